package engine

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// tellIfLost tells that the cluster is lost if an error means that it is unreachable. Errors of single
// requests do not. The next request that is answered means that the cluster is back.
func tellIfLost(sink *observe.Sink, err error) {
	switch kube.Status(err) {
	case 0, http.StatusUnauthorized, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		observe.Tell(sink, observe.ClusterLost{Reason: innermost(err)})
	}
}

// warnOfRetries returns a function that logs each retry of the first requests: nothing else shows
// that the operator is alive. Requests that fail at the same time are logged once.
func warnOfRetries(sink *observe.Sink, logger *slog.Logger) func(kube.Retry) {
	var mu sync.Mutex
	logged := 0
	return func(retry kube.Retry) {
		mu.Lock()
		defer mu.Unlock()
		if retry.Attempt <= logged {
			return
		}
		logged = retry.Attempt
		logger.Warn("Cannot discover the resources of the cluster; retrying",
			observe.EventKey, observe.LogDiscoveryRetrying, "error", retry.Err, "again in", retry.Delay.String())
		tellIfLost(sink, retry.Err)
	}
}

// innermost returns the cause of an error, with the address of a network error.
func innermost(err error) string {
	var network *net.OpError
	if errors.As(err, &network) && network.Addr != nil {
		return network.Addr.String() + ": " + innermost(network.Err)
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}
