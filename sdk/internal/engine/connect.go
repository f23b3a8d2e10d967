package engine

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
)

// Connect logs in to the cluster as an operator does, without running it. Logins continue until the context ends. The
// caller must then close them.
func Connect(ctx context.Context, config Config) (*Logins, error) {
	o := newOperator(ctx, config, core.NewIndices(config.Registry))
	o.stopBackground()
	logins := o.newLogins(ctx, func(error) {}) // each request that needs a login returns the error
	if _, err := logins.Current(ctx); err != nil {
		logins.Close()
		return nil, err
	}
	return logins, nil
}
