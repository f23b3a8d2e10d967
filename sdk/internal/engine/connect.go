package engine

import "context"

// Connect logs in to the cluster as an operator does, without running it. The logins continue until the context ends,
// and must be closed then.
func Connect(ctx context.Context, config Config) (*Logins, error) {
	o := newOperator(ctx, config, newIndices(config.Registry))
	o.stopBackground()
	logins := o.newLogins(ctx, func(error) {}) // each request that needs a login returns the error
	if _, err := logins.Current(ctx); err != nil {
		logins.Close()
		return nil, err
	}
	return logins, nil
}
