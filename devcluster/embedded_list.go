package devcluster

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/devcluster/internal/apiserver"
	"github.com/kopf-dev/kopf/devcluster/internal/instance"
)

// list returns all clusters that kopf manages, sorted by name.
func list(ctx context.Context, e embedded) ([]Info, error) {
	if k3d == nil {
		return e.list(ctx)
	}
	var containers []Info
	var failed error
	var wg sync.WaitGroup
	wg.Go(func() { containers, failed = k3d.List(ctx) })
	all, err := e.list(ctx)
	wg.Wait()
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}
	all = append(all, containers...)
	slices.SortFunc(all, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func (e embedded) list(ctx context.Context) ([]Info, error) {
	all, err := instance.List(e.root)
	if err != nil {
		return nil, err
	}
	// In parallel, because a cluster that hangs takes the whole timeout.
	infos := make([]Info, len(all))
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() { infos[i] = infoOf(ctx, s) })
	}
	wg.Wait()
	return infos, nil
}

// infoOf returns the state of a cluster, after checking whether it answers.
func infoOf(ctx context.Context, s instance.Status) Info {
	i := Info{
		Name: filepath.Base(s.Dir), Provider: Embedded, State: Stopped,
		Project: s.Project, PID: s.PID, Ephemeral: s.Ephemeral, FeatureGates: s.FeatureGates, Dir: s.Dir,
	}
	if s.Ready != nil {
		i.Server, i.Version, i.Kubeconfig, i.Context = s.Ready.Server, s.Ready.Version, s.Ready.Kubeconfig, s.Ready.Context
	}
	if s.Holder != nil {
		i.Owner, i.Started = s.Holder.Owner, &s.Holder.Started
	}
	switch {
	case s.PID == 0 && !s.Starting:
	case !s.Usable():
		i.State = Starting
	case answers(ctx, s.Ready):
		i.State = Running
	default:
		i.State = Unreachable
	}
	return i
}

func answers(ctx context.Context, r *instance.Ready) bool {
	cfg, err := clientConfig(r.Kubeconfig, r.Context).ClientConfig()
	if err != nil {
		return false
	}
	_, err = apiserver.Version(ctx, cfg, probeTimeout)
	return err == nil
}
