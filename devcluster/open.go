package devcluster

import (
	"context"
	"errors"
	"fmt"
)

// startAttempts bounds how often Open chooses again because another process was
// quicker to take the name.
const startAttempts = 5

// Open hands out a cluster as the options say, and starts one where that is needed.
// It returns when the cluster is usable.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	providers, err := newProviders()
	if err != nil {
		return nil, err
	}
	return providers.open(ctx, o)
}

func (ps providers) open(ctx context.Context, o Options) (*Cluster, error) {
	for attempt := 1; ; attempt++ {
		known, err := ps.list(ctx)
		if err != nil {
			return nil, err
		}
		known, err = ps.sweep(ctx, known)
		if err != nil {
			return nil, err
		}
		c, err := choose(o, known)
		if err != nil {
			return nil, err
		}
		cluster, err := ps.named(c.provider).open(ctx, o, c)
		if errors.Is(err, ErrInUse) && o.Name == "" && attempt < startAttempts {
			continue
		}
		return cluster, err
	}
}

// sweep deletes what ephemeral clusters left behind that did not end by themselves.
func (ps providers) sweep(ctx context.Context, known []Info) ([]Info, error) {
	kept := known[:0:0]
	for _, i := range known {
		if !i.Ephemeral || i.State != Stopped {
			kept = append(kept, i)
			continue
		}
		if err := ps.named(i.Provider).(manager).remove(ctx, i.Name); err != nil {
			return nil, fmt.Errorf("sweeping the remains of the cluster %s: %w", i.Name, err)
		}
	}
	return kept, nil
}
