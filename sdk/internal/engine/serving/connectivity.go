package serving

import (
	"errors"
	"net"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// emitIfLost emits ClusterLost if an error means that the cluster is unreachable, and not only that a single request
// failed. The next request with a response ends the loss.
func emitIfLost(sink *observe.Sink, err error) {
	switch kube.Status(err) {
	case 0, http.StatusUnauthorized, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		observe.Emit(sink, observe.ClusterLost{Reason: innermost(err)})
	}
}

// innermost returns the root cause of an error, with the address of a network error.
func innermost(err error) string {
	if network, ok := errors.AsType[*net.OpError](err); ok && network.Addr != nil {
		return network.Addr.String() + ": " + innermost(network.Err)
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return err.Error()
}
