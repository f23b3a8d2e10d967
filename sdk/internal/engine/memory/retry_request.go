package memory

import (
	"strings"
	"sync"
	"sync/atomic"
)

// RetryRequest asks that handlers of an object be called now: those that are delayed, and those that
// have failed permanently. It may follow requests that are not carried out yet: they are carried out
// together. All methods of a nil request are about no handler.
type RetryRequest struct {
	handler string        // id of the only handler that is meant; all if empty
	before  *RetryRequest // the request that it follows; nil if there is none
	called  map[string]bool

	ended atomic.Bool
	once  sync.Once
	Taken chan struct{} // closed when the request was carried out, or there was nothing to do for it
}

// NewRetryRequest requests a call of one handler, or of all handlers if its id is empty.
func NewRetryRequest(handler string) *RetryRequest {
	return &RetryRequest{handler: handler, called: map[string]bool{}, Taken: make(chan struct{})}
}

// names reports whether this request alone is about a handler. Whoever names a handler also means its
// sub-handlers, and the handlers that call it.
func (r *RetryRequest) names(id string) bool {
	return r.handler == "" || r.handler == id ||
		strings.HasPrefix(id, r.handler+"/") || strings.HasPrefix(r.handler, id+"/")
}

// any reports whether it holds for a request, or one before it, that is not carried out.
func (r *RetryRequest) any(holds func(*RetryRequest) bool) bool {
	for ; r != nil; r = r.before {
		if !r.ended.Load() && holds(r) {
			return true
		}
	}
	return false
}

// Means reports whether the requests are about a handler.
func (r *RetryRequest) Means(id string) bool {
	return r.any(func(one *RetryRequest) bool { return one.names(id) })
}

// Calls reports whether a handler is still to be called. Only the object's worker may use it.
func (r *RetryRequest) Calls(id string) bool {
	return r.any(func(one *RetryRequest) bool { return one.names(id) && !one.called[id] })
}

// Restarts reports whether a handler that has failed permanently is still to be called. Only the object's
// worker may use it.
func (r *RetryRequest) Restarts(id string) bool {
	return r.any(func(one *RetryRequest) bool { return (one.handler == "" || one.handler == id) && !one.called[id] })
}

// NoteCalled notes that a handler was called. Only the object's worker may use it.
func (r *RetryRequest) NoteCalled(id string) {
	for ; r != nil; r = r.before {
		r.called[id] = true
	}
}

// end ends the request and those before it.
func (r *RetryRequest) end() {
	for ; r != nil; r = r.before {
		r.ended.Store(true)
		r.once.Do(func() { close(r.Taken) })
	}
}

// FailedRef names an object with permanent failures.
type FailedRef struct{ Namespace, Name string }
