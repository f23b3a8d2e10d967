package serving

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// outageInterval is the minimum time between two log lines about the same outage.
const outageInterval = time.Minute

// discoveryOutage logs failing discoveries of resources: the first failure, then at most one line per minute, and the
// recovery. It is safe for concurrent use.
type discoveryOutage struct {
	logger *slog.Logger
	sink   *observe.Sink

	mu     sync.Mutex
	began  time.Time // zero if there is no outage
	logged time.Time // time of the last line
}

// failed logs an attempt that is repeated after a delay.
func (o *discoveryOutage) failed(event observe.LogName, err error, delay time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.began.IsZero() {
		o.began = now
	} else if now.Sub(o.logged) < outageInterval {
		return
	}
	o.logged = now
	o.logger.Warn("Cannot discover the resources of the cluster; retrying in "+delay.String(),
		observe.EventKey, event, "error", err, "since", now.Sub(o.began).Round(time.Second).String())
}

// retrying is failed for the first discovery, which the operator needs in order to start.
func (o *discoveryOutage) retrying(retry kube.Retry) {
	emitIfLost(o.sink, retry.Err)
	o.failed(observe.LogDiscoveryRetrying, retry.Err, retry.Delay)
}

// over logs the recovery, if there was an outage.
func (o *discoveryOutage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.began.IsZero() {
		return
	}
	o.logger.Info("The resources of the cluster can be discovered again",
		observe.EventKey, observe.LogDiscoveryRecovered, "after", time.Since(o.began).Round(time.Millisecond).String())
	o.began = time.Time{}
}

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
