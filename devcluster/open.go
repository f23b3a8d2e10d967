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
	provider, reason, err := chooseProvider(o)
	if err != nil {
		return nil, err
	}
	if provider == Context {
		return openContext(ctx, o, reason)
	}
	e, err := newEmbedded()
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		known, err := sweep(ctx, e)
		if err != nil {
			return nil, err
		}
		c, err := choose(o, known, func() (bool, string) { return probeK3d(ctx) })
		if err != nil {
			return nil, err
		}
		var cluster *Cluster
		switch c.provider {
		case K3d:
			cluster, err = openK3d(ctx, o, c)
		default:
			cluster, err = e.open(ctx, o, c)
		}
		// Another process may have taken the name of a new cluster, or deleted a known one.
		lost := errors.Is(err, ErrInUse) || c.provider == K3d && errors.Is(err, ErrNotFound)
		if lost && o.Name == "" && attempt < startAttempts {
			continue
		}
		return cluster, err
	}
}

// openK3d starts or creates a cluster of the provider K3d. The cluster keeps running after this
// process, because others may use it meanwhile.
func openK3d(ctx context.Context, o Options, c choice) (*Cluster, error) {
	k, err := wantK3d()
	if err != nil {
		return nil, err
	}
	var i Info
	if c.known != nil {
		i, err = k.Start(ctx, c.name, o)
	} else {
		i, err = k.Create(ctx, c.name, c.project, o)
	}
	if err != nil {
		return nil, err
	}
	reason := c.reason
	if !c.reuses() {
		reason += "; it keeps running afterwards"
	}
	return &Cluster{
		Provider: K3d, Name: i.Name, Reason: reason, Version: i.Version, Server: i.Server,
		KubeconfigPath: i.Kubeconfig, Context: i.Context, Namespace: "default",
	}, nil
}

// sweep deletes the data of ephemeral clusters whose process was killed, and what interrupted
// commands have left. It returns the other clusters, sorted by name.
func sweep(ctx context.Context, e embedded) ([]Info, error) {
	if err := instance.Sweep(e.root); err != nil {
		return nil, err
	}
	if k3d != nil {
		if err := k3d.Sweep(ctx); err != nil {
			return nil, err
		}
	}
	known, err := list(ctx, e)
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
