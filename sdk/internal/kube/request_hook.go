package kube

import "context"

// requestHookKey is the context key of the function that requests call when they start.
type requestHookKey struct{}

// WithRequestHook returns a context in which each request calls begin when it starts, and end after its last retry.
// Streams call neither.
func WithRequestHook(ctx context.Context, begin func() (end func())) context.Context {
	return context.WithValue(ctx, requestHookKey{}, begin)
}

// BeginRequest calls the context's begin function, if it has one, and returns the function to call at the end. Code that
// waits for the cluster without a request calls BeginRequest itself.
func BeginRequest(ctx context.Context) (end func()) {
	if begin, ok := ctx.Value(requestHookKey{}).(func() func()); ok {
		return begin()
	}
	return func() {}
}
