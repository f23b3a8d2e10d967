// Package access passes the way into the cluster to handlers with their contexts: from
// an operator, or from a test that calls them directly.
package access

import (
	"context"

	"k8s.io/client-go/rest"
)

type key struct{}

// With returns a context with a configuration.
func With(ctx context.Context, config *rest.Config) context.Context {
	return context.WithValue(ctx, key{}, config)
}

// Config returns the configuration of a context; nil if there is none.
func Config(ctx context.Context) *rest.Config {
	config, _ := ctx.Value(key{}).(*rest.Config)
	return config
}
