package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
)

// environment is a temporary folder for all clusters and programs of a run, so that it does not
// affect the user's and leaves nothing behind.
type environment struct {
	root     string // the root of the repository
	dir      string
	profile  string // the folder for profiles; empty for none
	operator string // the path of the operator's program
	against  string // the path of another build of it; empty for none

	clusters []*devcluster.Cluster
	began    time.Time
}

func newEnvironment(profile string) (*environment, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "go.work")); err != nil {
		return nil, fmt.Errorf("start this in the root of the repository: %w", err)
	}
	if profile != "" {
		if profile, err = filepath.Abs(profile); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(profile, 0o755); err != nil {
			return nil, err
		}
	}
	// The path must be short, because it contains unix sockets.
	dir, err := os.MkdirTemp("", "kopf-bench-")
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &environment{root: root, dir: dir, profile: profile, began: time.Now()}, nil
}

// close stops the running clusters and removes the folder.
func (l *environment) close() error {
	var all []error
	for _, c := range l.clusters {
		all = append(all, l.closeCluster(c))
	}
	return errors.Join(append(all, os.RemoveAll(l.dir))...)
}

// say prints a line about the progress.
func (l *environment) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(l.began).Seconds(), fmt.Sprintf(format, args...))
}

// example returns the path of a file of examples/01-minimal.
func (l *environment) example(name string) string {
	return filepath.Join(l.root, "examples", "01-minimal", name)
}

func (l *environment) kopf() string { return filepath.Join(l.root, "bin", "kopf") }

// buildOperator builds the operator as for a release, or with a profiler.
func (l *environment) buildOperator(ctx context.Context) error {
	l.operator = filepath.Join(l.dir, "operator")
	args := []string{"build", "-ldflags=-s -w", "-o", l.operator}
	if l.profile != "" {
		args = []string{"build", "-tags=profile", "-o", l.operator}
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./bench/operator")...)
	cmd.Dir = l.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the operator: %w\n%s", err, out)
	}
	return nil
}

// measurement measures a figure in a cluster.
type measurement func(context.Context, *environment, *devcluster.Cluster, *api) ([]row, error)

// inCluster returns a function that measures a figure in a new cluster and stops the cluster.
func inCluster(measure measurement) func(context.Context, *environment) ([]row, error) {
	return inClusterWith(devcluster.Options{}, measure)
}

// inDevCluster does so in a cluster like a cluster of kopf dev.
func inDevCluster(measure measurement) func(context.Context, *environment) ([]row, error) {
	return inClusterWith(devcluster.Options{LowPriority: true}, measure)
}

func inClusterWith(o devcluster.Options, measure measurement) func(context.Context, *environment) ([]row, error) {
	return func(ctx context.Context, l *environment) (_ []row, err error) {
		c, client, err := l.openCluster(ctx, o)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, l.closeCluster(c)) }()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return measure(ctx, l, c, client)
	}
}

// openCluster starts a new embedded cluster with the example's CRD.
func (l *environment) openCluster(ctx context.Context, o devcluster.Options) (*devcluster.Cluster, *api, error) {
	o.Provider, o.Ephemeral = devcluster.Embedded, true
	c, err := devcluster.Open(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	l.clusters = append(l.clusters, c)
	config, err := c.RESTConfig()
	if err != nil {
		return nil, nil, err
	}
	if _, err := apply.Files(ctx, config, []string{l.example("crd.yaml")}, apply.Options{}); err != nil {
		return nil, nil, err
	}
	client, err := newAPI(config)
	return c, client, err
}

func (l *environment) closeCluster(c *devcluster.Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return c.Close(ctx)
}

// startOperator starts the operator, or p.path if it is set, in a namespace of a cluster. An
// empty namespace means all.
func (l *environment) startOperator(ctx context.Context, c *devcluster.Cluster, namespace string, p program) (*process, error) {
	p.path, p.quiet = cmp.Or(p.path, l.operator), true
	p.args = append(p.args, "--kubeconfig="+c.KubeconfigPath, "--context="+c.Context)
	if namespace == "" {
		p.args = append(p.args, "--all-namespaces")
	} else {
		p.args = append(p.args, "--namespace="+namespace)
	}
	// The guard stops it when this program ends, even if it is killed.
	p.env = append(p.env, "KOPF_STDIN_GUARD=1", "KOPF_BENCH_PROFILE="+l.profile)
	return l.start(ctx, p)
}

// profiled makes the operator write its profiles, if it has any.
func (l *environment) profiled(p *process) error {
	if l.profile == "" {
		return nil
	}
	defer time.Sleep(time.Second) // wait until it is written
	return p.cmd.Process.Signal(syscall.SIGUSR1)
}
