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

// lab is where everything is measured: a folder of its own, so that neither clusters nor
// programs of the user are met, and nothing is left.
type lab struct {
	root     string // of the repository
	dir      string
	profile  string // where to write profiles; empty: none
	operator string // the path of the operator's program

	clusters []*devcluster.Cluster
	began    time.Time
}

func newLab(profile string) (*lab, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(root, "go.work")); err != nil {
		return nil, fmt.Errorf("this is to be started at the root of the repository: %w", err)
	}
	if profile != "" {
		if profile, err = filepath.Abs(profile); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(profile, 0o755); err != nil {
			return nil, err
		}
	}
	// The path is short: there are unix sockets in it.
	dir, err := os.MkdirTemp("", "kopf-bench-")
	if err != nil {
		return nil, err
	}
	if err := os.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &lab{root: root, dir: dir, profile: profile, began: time.Now()}, nil
}

// close ends the clusters that still run and removes the folder.
func (l *lab) close() error {
	var all []error
	for _, c := range l.clusters {
		all = append(all, l.closeCluster(c))
	}
	return errors.Join(append(all, os.RemoveAll(l.dir))...)
}

// say tells about the progress.
func (l *lab) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(l.began).Seconds(), fmt.Sprintf(format, args...))
}

// example is a file of the example that everything is measured with.
func (l *lab) example(name string) string {
	return filepath.Join(l.root, "examples", "01-minimal", name)
}

func (l *lab) kopf() string { return filepath.Join(l.root, "bin", "kopf") }

// buildOperator builds the operator as it would be shipped, unless it is to be profiled.
func (l *lab) buildOperator(ctx context.Context) error {
	l.operator = filepath.Join(l.dir, "operator")
	args := []string{"build", "-ldflags=-s -w", "-o", l.operator}
	if l.profile != "" {
		args = []string{"build", "-tags=profile", "-o", l.operator}
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./bench/operator")...)
	cmd.Dir = l.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the operator: %w\n%s", err, out)
	}
	return nil
}

// inCluster lets a figure be measured in a new cluster. Both end together, with all that the
// measurement has begun.
func inCluster(measure func(context.Context, *lab, *devcluster.Cluster, *api) ([]row, error)) func(context.Context, *lab) ([]row, error) {
	return func(ctx context.Context, l *lab) (_ []row, err error) {
		c, client, err := l.openCluster(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, l.closeCluster(c)) }()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return measure(ctx, l, c, client)
	}
}

// openCluster starts a new cluster that knows the example's resource.
func (l *lab) openCluster(ctx context.Context) (*devcluster.Cluster, *api, error) {
	c, err := devcluster.Open(ctx, devcluster.Options{Provider: devcluster.Embedded, Ephemeral: true})
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

func (l *lab) closeCluster(c *devcluster.Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	return c.Close(ctx)
}

// startOperator starts the operator, or the program that is named instead, in a namespace of a
// cluster; an empty one is all.
func (l *lab) startOperator(ctx context.Context, c *devcluster.Cluster, namespace string, p program) (*process, error) {
	p.path, p.quiet = cmp.Or(p.path, l.operator), true
	p.args = append(p.args, "--kubeconfig="+c.KubeconfigPath, "--context="+c.Context)
	if namespace == "" {
		p.args = append(p.args, "--all-namespaces")
	} else {
		p.args = append(p.args, "--namespace="+namespace)
	}
	// It ends with the bench, however that ends.
	p.env = append(p.env, "KOPF_STDIN_GUARD=1", "KOPF_BENCH_PROFILE="+l.profile)
	return l.start(ctx, p)
}

// profiled ends the profile of an operator, if there is one.
func (l *lab) profiled(p *process) error {
	if l.profile == "" {
		return nil
	}
	defer time.Sleep(time.Second) // it is being written
	return p.cmd.Process.Signal(syscall.SIGUSR1)
}
