package engine

import (
	"strings"
	"sync"
	"sync/atomic"
)

// retryRequest asks that handlers of an object be called now: those that are delayed, and those that
// have failed permanently. It may follow requests that are not carried out yet: they are carried out
// together. All methods of a nil request are about no handler.
type retryRequest struct {
	handler string        // id of the only handler that is meant; all if empty
	before  *retryRequest // the request that it follows; nil if there is none
	called  map[string]bool

	ended atomic.Bool
	once  sync.Once
	taken chan struct{} // closed when the request was carried out, or there was nothing to do for it
}

func newRetryRequest(handler string) *retryRequest {
	return &retryRequest{handler: handler, called: map[string]bool{}, taken: make(chan struct{})}
}

// names reports whether this request alone is about a handler. Whoever names a handler also means its
// sub-handlers, and the handlers that call it.
func (r *retryRequest) names(id string) bool {
	return r.handler == "" || r.handler == id ||
		strings.HasPrefix(id, r.handler+"/") || strings.HasPrefix(r.handler, id+"/")
}

// any reports whether it holds for a request, or one before it, that is not carried out.
func (r *retryRequest) any(holds func(*retryRequest) bool) bool {
	for ; r != nil; r = r.before {
		if !r.ended.Load() && holds(r) {
			return true
		}
	}
	return false
}

// means reports whether the requests are about a handler.
func (r *retryRequest) means(id string) bool {
	return r.any(func(one *retryRequest) bool { return one.names(id) })
}

// calls reports whether a handler is still to be called. Only the object's worker may use it.
func (r *retryRequest) calls(id string) bool {
	return r.any(func(one *retryRequest) bool { return one.names(id) && !one.called[id] })
}

// restarts reports whether a handler that has failed permanently is still to be called. Only the object's
// worker may use it.
func (r *retryRequest) restarts(id string) bool {
	return r.any(func(one *retryRequest) bool { return (one.handler == "" || one.handler == id) && !one.called[id] })
}

// noteCalled notes that a handler was called. Only the object's worker may use it.
func (r *retryRequest) noteCalled(id string) {
	for ; r != nil; r = r.before {
		r.called[id] = true
	}
}

// end ends the request and those before it.
func (r *retryRequest) end() {
	for ; r != nil; r = r.before {
		r.ended.Store(true)
		r.once.Do(func() { close(r.taken) })
	}
}

// failedRef names an object with permanent failures.
type failedRef struct{ namespace, name string }
