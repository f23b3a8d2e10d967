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

// connectivity tells the inspector when the API server becomes unreachable, and when it answers
// again. It is safe for concurrent use.
type connectivity struct {
	reporter *reporter

	lost atomic.Bool // checked after each request
	mu   sync.Mutex  // keeps the reports in order
}

// lose reports that the API server is unreachable, and why.
func (c *connectivity) lose(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost.Store(true)
	c.reporter.operator(func(op *inspect.Operator) { op.Lost = reason })
}

// loseBy reports that the API server is unreachable if an error means that. Errors of single
// requests do not.
func (c *connectivity) loseBy(err error) {
	switch kube.Status(err) {
	case 0, http.StatusUnauthorized, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		c.lose(innermost(err))
	}
}

// regain reports that the API server is reachable again if a request was answered.
func (c *connectivity) regain(call kube.Call) {
	answered := call.Status != 0 && call.Status < http.StatusInternalServerError && call.Status != http.StatusUnauthorized
	if !answered || !c.lost.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost.Swap(false) {
		c.reporter.operator(func(op *inspect.Operator) { op.Lost = "" })
	}
}

// warnOfRetries returns a function that logs each retry of the first requests: nothing else shows
// that the operator is alive. Requests that fail at the same time are logged once.
func (c *connectivity) warnOfRetries(logger *slog.Logger, message string) func(kube.Retry) {
	var mu sync.Mutex
	logged := 0
	return func(retry kube.Retry) {
		mu.Lock()
		defer mu.Unlock()
		if retry.Attempt <= logged {
			return
		}
		logged = retry.Attempt
		logger.Warn(message, "error", retry.Err, "again in", retry.Delay.String())
		c.loseBy(retry.Err)
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
