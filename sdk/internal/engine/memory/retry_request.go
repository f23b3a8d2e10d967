package memory

import (
	"strings"
	"sync/atomic"
)

// RetryRequest asks for an immediate call of an object's delayed and permanently failed handlers. Requests that were not
// carried out yet form a list; one cycle carries out all of them. All methods of a nil request match no handler.
type RetryRequest struct {
	handler string        // id of the only requested handler; empty for all handlers
	before  *RetryRequest // previous request in the list; nil if there is none
	called  map[string]bool

	ended atomic.Bool
	Taken chan struct{} // closed when the request was carried out, or had nothing to do
}

// NewRetryRequest requests a call of one handler, or of all handlers if its id is empty.
func NewRetryRequest(handler string) *RetryRequest {
	return &RetryRequest{handler: handler, called: map[string]bool{}, Taken: make(chan struct{})}
}

// names reports whether this request alone includes a handler: also a sub-handler of the requested one, or a handler that calls it.
func (r *RetryRequest) names(id string) bool {
	return r.handler == "" || r.handler == id ||
		strings.HasPrefix(id, r.handler+"/") || strings.HasPrefix(r.handler, id+"/")
}

// any reports whether the condition holds for a pending request in the list.
func (r *RetryRequest) any(holds func(*RetryRequest) bool) bool {
	for ; r != nil; r = r.before {
		if !r.ended.Load() && holds(r) {
			return true
		}
	}
	return false
}

// Means reports whether the pending requests include a handler.
func (r *RetryRequest) Means(id string) bool {
	return r.any(func(one *RetryRequest) bool { return one.names(id) })
}

// Calls reports whether a requested handler was not called yet. Only the object's worker may use it.
func (r *RetryRequest) Calls(id string) bool {
	return r.any(func(one *RetryRequest) bool { return one.names(id) && !one.called[id] })
}

// Restarts reports whether a requested handler that failed permanently was not called yet. Only the object's worker may use it.
func (r *RetryRequest) Restarts(id string) bool {
	return r.any(func(one *RetryRequest) bool { return (one.handler == "" || one.handler == id) && !one.called[id] })
}

// NoteCalled records that a handler was called. Only the object's worker may use it.
func (r *RetryRequest) NoteCalled(id string) {
	for ; r != nil; r = r.before {
		r.called[id] = true
	}
}

// FailedRef names an object with permanent failures.
type FailedRef struct{ Namespace, Name string }
