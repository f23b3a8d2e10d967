package engine

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// reach tells the inspector while the cluster cannot be reached, and why.
type reach struct {
	reporter *reporter

	lost atomic.Bool // to be asked after each request
	mu   sync.Mutex  // the inspector is told in the order of events
}

// lose notes that the cluster does not answer.
func (r *reach) lose(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost.Store(true)
	r.reporter.operator(func(op *inspect.Operator) { op.Lost = reason })
}

// note looks whether the cluster answers again.
func (r *reach) note(call kube.Call) {
	answers := call.Status != 0 && call.Status < http.StatusInternalServerError && call.Status != http.StatusUnauthorized
	if !answers || !r.lost.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost.Swap(false) {
		r.reporter.operator(func(op *inspect.Operator) { op.Lost = "" })
	}
}

// isLoss tells whether an error means that nothing works, and not only what was asked for.
func isLoss(err error) bool {
	switch kube.Status(err) {
	case 0, http.StatusUnauthorized, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// insist returns what tells that the requests of the start are repeated: from the first
// repetition on, since nothing else tells that the operator is alive. Requests that fail
// together are told once.
func (r *reach) insist(logger *slog.Logger, message string) func(kube.Retry) {
	var mu sync.Mutex
	told := 0
	return func(retry kube.Retry) {
		mu.Lock()
		defer mu.Unlock()
		if retry.Attempt <= told {
			return
		}
		told = retry.Attempt
		logger.Warn(message, "error", retry.Err, "again in", retry.Delay.String())
		if isLoss(retry.Err) {
			r.lose(innermost(retry.Err))
		}
	}
}

// innermost says in few words why the cluster does not answer.
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
