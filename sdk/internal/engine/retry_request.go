package engine

import (
	"strings"
	"sync"
)

// retryRequest asks that handlers of an object be called now: those that are delayed, and those that
// have failed permanently.
type retryRequest struct {
	handler string // id of the only handler that is meant; all if empty
	once    sync.Once
	taken   chan struct{} // closed when the request was carried out, or there was nothing to do for it
}

func newRetryRequest(handler string) *retryRequest {
	return &retryRequest{handler: handler, taken: make(chan struct{})}
}

// means reports whether the request is about a handler. Whoever names a handler also means its
// sub-handlers, and the handlers that call it. Nil is about none.
func (r *retryRequest) means(id string) bool {
	return r != nil && (r.handler == "" || r.handler == id ||
		strings.HasPrefix(id, r.handler+"/") || strings.HasPrefix(r.handler, id+"/"))
}

// end ends the request.
func (r *retryRequest) end() { r.once.Do(func() { close(r.taken) }) }

// failedRef names an object with permanent failures.
type failedRef struct{ namespace, name string }
