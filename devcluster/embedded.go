package devcluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/devcluster/internal/instance"
)

const (
	// startTimeout bounds a start, which usually takes a second.
	startTimeout = 90 * time.Second
	// stopTimeout bounds a stop, which usually takes a second.
	stopTimeout = time.Minute
	// probeTimeout bounds the request that checks whether a running cluster answers.
	probeTimeout = 2 * time.Second
)

// embedded manages the control planes that run as single processes on this machine.
type embedded struct {
	root string // the directory with a data directory for each cluster
}

func newEmbedded() (embedded, error) {
	root, err := instance.Root()
	return embedded{root: root}, err
}

func (e embedded) dir(name string) string { return filepath.Join(e.root, name) }

func (e embedded) open(ctx context.Context, o Options, c choice) (*Cluster, error) {
	if c.reuses() {
		return e.join(ctx, o, c)
	}
	p, err := e.run(ctx, c.name, c.project, o, false)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Provider: Embedded, Name: c.name, Reason: c.reason, Version: p.Ready.Version, Server: p.Ready.Server,
		KubeconfigPath: p.Ready.Kubeconfig, Context: p.Ready.Context, Namespace: "default",
		Started: true, Ephemeral: o.Ephemeral, copied: o.Copy, stop: p.Stop, ended: p.Exited(),
	}, nil
}

// join returns a cluster that another process has started.
func (e embedded) join(ctx context.Context, o Options, c choice) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	o.report(Progress{Phase: PhaseConnect, Message: "connecting to the cluster " + c.name})
	s, err := instance.Wait(ctx, e.dir(c.name))
	if err != nil {
		return nil, fmt.Errorf("wait for the cluster %s: %w", c.name, err)
	}
	if err := o.checkRunning(c.name, s.FeatureGates); err != nil {
		return nil, err
	}
	o.report(Progress{Phase: PhaseReady, Message: fmt.Sprintf("%s runs Kubernetes %s", c.name, s.Ready.Version)})
	return &Cluster{
		Provider: Embedded, Name: c.name, Reason: c.reason, Version: s.Ready.Version, Server: s.Ready.Server,
		KubeconfigPath: s.Ready.Kubeconfig, Context: s.Ready.Context, Namespace: "default",
	}, nil
}

// run finds or builds the program of the control plane, and starts it.
func (e embedded) run(ctx context.Context, name, project string, o Options, detached bool) (*instance.Process, error) {
	gates, err := normalGates(o.FeatureGates)
	if err != nil {
		return nil, err
	}
	program, err := findProgram(ctx, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	o.report(Progress{Phase: PhaseStart, Message: "starting the cluster " + name})
	p, err := instance.Start(ctx, instance.Config{
		Binary: program, Dir: e.dir(name), Context: contextName(name), Project: project, Detached: detached, Ephemeral: o.Ephemeral,
		FeatureGates: gates, Copy: o.Copy,
	})
	if err != nil {
		return nil, err
	}
	if o.LowPriority {
		if err := p.LowerPriority(ctx); err != nil { // it works nevertheless
			o.report(Progress{Phase: PhaseStart, Message: "the cluster may slow down other programs: " + err.Error()})
		}
	}
	o.report(Progress{Phase: PhaseReady, Message: fmt.Sprintf("%s runs Kubernetes %s", name, p.Ready.Version)})
	return p, nil
}

// contextName returns the name of the context in the kubeconfig. The prefix shows kubectl's
// users that the cluster belongs to kopf.
func contextName(name string) string { return "kopf-" + name }

func (e embedded) start(ctx context.Context, name, project string, o Options) (Info, error) {
	if _, err := e.run(ctx, name, project, o, true); err != nil {
		return Info{}, err
	}
	return e.get(ctx, name)
}

func (e embedded) stop(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := instance.Stop(ctx, e.dir(name)); err != nil {
		return fmt.Errorf("stop the cluster %s: %w", name, err)
	}
	return nil
}

func (e embedded) remove(ctx context.Context, name string) error {
	err := e.stop(ctx, name)
	if err == nil {
		err = instance.Remove(e.dir(name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // an ephemeral cluster removes itself, and others may sweep it, too
	}
	return err
}

// get returns a cluster by its name. Invalid names, which could lead to other folders, are not
// found.
func (e embedded) get(ctx context.Context, name string) (Info, error) {
	if checkName(name) != nil {
		return Info{}, notFound(name)
	}
	s, err := instance.Read(e.dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, notFound(name)
	}
	if err != nil {
		return Info{}, err
	}
	return infoOf(ctx, s), nil
}

func notFound(name string) error {
	return &fault.Error{
		Kind: ErrNotFound, Message: fmt.Sprintf("there is no cluster %q", name),
		Next: "list the clusters with: kopf cluster list; or create it with: kopf cluster create " + name,
	}
}
