package kube

import "context"

// requestHookKey is the context's key of a function that requests call when they begin.
type requestHookKey struct{}

// WithRequestHook returns a context whose requests call begin when they begin, and end after
// their last retry. Streams do not.
func WithRequestHook(ctx context.Context, begin func() (end func())) context.Context {
	return context.WithValue(ctx, requestHookKey{}, begin)
}

// BeginRequest calls the context's begin function, if it has one, and returns the function to
// call at the end. Code that waits for the cluster in other ways than by requests calls it.
func BeginRequest(ctx context.Context) (end func()) {
	if begin, ok := ctx.Value(requestHookKey{}).(func() func()); ok {
		return begin()
	}
	return func() {}
}
