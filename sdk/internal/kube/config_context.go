package kube

import (
	"context"

	"k8s.io/client-go/rest"
)

type configKey struct{}

// WithConfig returns a context with a configuration.
func WithConfig(ctx context.Context, config *rest.Config) context.Context {
	return WithConfigFunc(ctx, func() *rest.Config { return config })
}

// WithConfigFunc returns a context with a function that returns the configuration.
func WithConfigFunc(ctx context.Context, config func() *rest.Config) context.Context {
	return context.WithValue(ctx, configKey{}, config)
}

// ConfigFrom returns the configuration of a context, or nil if it has none.
func ConfigFrom(ctx context.Context) *rest.Config {
	config, _ := ctx.Value(configKey{}).(func() *rest.Config)
	if config == nil {
		return nil
	}
	return config()
}
