package serving

import (
	"errors"
	"net"
	"net/http"

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
