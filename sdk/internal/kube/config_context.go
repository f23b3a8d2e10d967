package kube

import (
	"context"

	"k8s.io/client-go/rest"
)

type key struct{}

// With returns a context with a configuration.
func WithConfig(ctx context.Context, config *rest.Config) context.Context {
	return WithConfigFunc(ctx, func() *rest.Config { return config })
}

// WithFunc returns a context with a configuration that is made when it is asked for.
func WithConfigFunc(ctx context.Context, config func() *rest.Config) context.Context {
	return context.WithValue(ctx, key{}, config)
}

// Config returns the configuration of a context; nil if there is none.
func ConfigFrom(ctx context.Context) *rest.Config {
	config, _ := ctx.Value(key{}).(func() *rest.Config)
	if config == nil {
		return nil
	}
	return config()
}
