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
	// startTimeout is far above the second that a start takes, for slow machines.
	startTimeout = 90 * time.Second
	// stopTimeout is far above the second that a stop takes.
	stopTimeout = 15 * time.Second
	// probeTimeout bounds the look whether a running cluster answers.
	probeTimeout = 2 * time.Second
)

// embedded is the provider of the control planes in one process on this machine.
type embedded struct {
	root string // the directory with a data directory for each cluster
}

func (embedded) name() string { return Embedded }

func (e embedded) dir(name string) string { return filepath.Join(e.root, name) }

func (e embedded) open(ctx context.Context, o Options, c choice) (*Cluster, error) {
	if c.reuse != nil {
		return e.join(ctx, o, c)
	}
	p, err := e.run(ctx, c.name, o, false)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Provider: Embedded, Name: c.name, Reason: c.reason, Version: p.Ready.Version, Server: p.Ready.Server,
		KubeconfigPath: p.Ready.Kubeconfig, Context: p.Ready.Context, Namespace: "default",
		Started: true, stop: p.Stop, ended: p.Exited(),
	}, nil
}

// join hands out a cluster that somebody else has started.
func (e embedded) join(ctx context.Context, o Options, c choice) (*Cluster, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	o.report(Progress{Phase: PhaseConnect, Message: "using the cluster " + c.name})
	s, err := instance.Wait(ctx, e.dir(c.name))
	if err != nil {
		return nil, fmt.Errorf("waiting for the cluster %s: %w", c.name, err)
	}
	o.report(Progress{Phase: PhaseReady, Message: fmt.Sprintf("%s is Kubernetes %s", c.name, s.Ready.Version)})
	return &Cluster{
		Provider: Embedded, Name: c.name, Reason: c.reason, Version: s.Ready.Version, Server: s.Ready.Server,
		KubeconfigPath: s.Ready.Kubeconfig, Context: s.Ready.Context, Namespace: "default",
	}, nil
}

// run finds or builds the program, and starts it.
func (e embedded) run(ctx context.Context, name string, o Options, detached bool) (*instance.Process, error) {
	program, err := locateProgram(ctx, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	o.report(Progress{Phase: PhaseStart, Message: "starting the cluster " + name})
	p, err := instance.Start(ctx, instance.Config{
		Binary: program, Dir: e.dir(name), Context: contextName(name), Detached: detached, Ephemeral: o.Ephemeral,
	})
	if err != nil {
		return nil, err
	}
	o.report(Progress{Phase: PhaseReady, Message: fmt.Sprintf("%s is Kubernetes %s", name, p.Ready.Version)})
	return p, nil
}

// contextName is what kubectl shows, so that it tells whose cluster it is.
func contextName(name string) string { return "kopf-" + name }

func (e embedded) start(ctx context.Context, name string, o Options) (Info, error) {
	if _, err := e.run(ctx, name, o, true); err != nil {
		return Info{}, err
	}
	return e.get(ctx, name)
}

func (e embedded) stop(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := instance.Stop(ctx, e.dir(name)); err != nil {
		return fmt.Errorf("stopping the cluster %s: %w", name, err)
	}
	return nil
}

func (e embedded) remove(ctx context.Context, name string) error {
	if err := e.stop(ctx, name); err != nil {
		return err
	}
	err := instance.Remove(e.dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // an ephemeral one, which has removed itself
	}
	return err
}

func (e embedded) get(ctx context.Context, name string) (Info, error) {
	s, err := instance.Read(e.dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, notFound(name)
	}
	if err != nil {
		return Info{}, err
	}
	return inspect(ctx, s), nil
}

func notFound(name string) error {
	return &fault.Error{
		Kind: ErrNotFound, Message: fmt.Sprintf("there is no cluster %q", name),
		Next: "see kopf cluster list, or create it with: kopf cluster create " + name,
	}
}
