package devcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/devcluster/internal/instance"
)

// startAttempts is the maximal number of times that Open chooses a cluster, if other
// processes take the chosen name first.
const startAttempts = 5

// Open returns a cluster that fits the options, and starts one if necessary. It returns when
// the cluster is usable.
func Open(ctx context.Context, o Options) (*Cluster, error) {
	e, err := newEmbedded()
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		known, err := e.sweep(ctx)
		if err != nil {
			return nil, err
		}
		c, err := choose(o, known)
		if err != nil {
			return nil, err
		}
		if c.provider == Context {
			return openContext(ctx, o, c.reason)
		}
		cluster, err := e.open(ctx, o, c)
		if errors.Is(err, ErrInUse) && o.Name == "" && attempt < startAttempts {
			continue
		}
		return cluster, err
	}
}

// sweep deletes the data of ephemeral clusters whose process was killed, and what interrupted
// commands have left. It returns the other clusters.
func (e embedded) sweep(ctx context.Context) ([]Info, error) {
	if err := instance.Sweep(e.root); err != nil {
		return nil, err
	}
	known, err := e.list(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range known {
		if !i.forgotten() {
			continue
		}
		if err := e.remove(ctx, i.Name); err != nil {
			return nil, fmt.Errorf("delete the data of the ephemeral cluster %s: %w", i.Name, err)
		}
	}
	return slices.DeleteFunc(known, Info.forgotten), nil
}
