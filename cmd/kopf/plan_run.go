package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/internal/workdir"
	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/plan/copy"
	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/plan/question"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/plan/source"
	"github.com/kopf-dev/kopf/plan/trial"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// planner makes a plan.
type planner struct {
	flags    *planFlags
	patterns []string
	progress func(devcluster.Progress) // called with the progress of the control plane
	step     func(string)              // called with the name of each step after the start of the control plane
	say      func(format string, args ...any)

	folders []*workdir.Dir
	builder *runner.Builder
	build   planBuild
	against *planBuild // nil without a comparison
	cluster *devcluster.Cluster
	reader  *source.Reader
	copied  *copy.Copy

	leftOut atomic.Int64 // number of objects that the question leaves out
	marks   *planMarks   // nil without --rehandle
}

// plan makes the plan.
func (p *planner) plan(ctx context.Context) (*shapes.Plan, error) {
	options, result, err := p.try(ctx)
	if err != nil {
		return nil, err
	}
	plan := p.answer(result)
	if p.against != nil {
		if plan.Against, err = p.compare(ctx, options, result); err != nil {
			return nil, err
		}
	}
	if p.flags.save != "" {
		if err := p.saveCopy(); err != nil {
			return nil, err
		}
	}
	return plan, nil
}

// try runs this build on a copy. It returns the options for the next run, too.
func (p *planner) try(ctx context.Context) (o trial.Options, _ *trial.Result, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return o, nil, fmt.Errorf("find the current folder: %w", err)
	}
	folder, err := p.newFolder()
	if err != nil {
		return o, nil, err
	}
	if p.flags.box == boxAuto {
		if err := box.Check(folder); err != nil {
			return o, nil, withoutBox(err)
		}
	}
	if p.builder, err = runner.NewBuilder(); err != nil {
		return o, nil, err
	}
	if err := p.prepare(ctx, dir); err != nil {
		return o, nil, err
	}
	if o, err = p.options(ctx, folder); err != nil {
		return o, nil, err
	}
	p.step("running the operator on the copy")
	result, err := trial.Run(ctx, o)
	return o, result, err
}

// newFolder makes a folder that is removed at the end.
func (p *planner) newFolder() (string, error) {
	folder, err := newPlanFolder()
	if err != nil {
		return "", err
	}
	p.folders = append(p.folders, folder)
	return folder.Path, nil
}

// newPlanFolder makes a folder with a path that is short enough for sockets.
func newPlanFolder() (*workdir.Dir, error) {
	const maxFolder = 70
	cache, err := os.UserCacheDir()
	parent := filepath.Join(cache, "kopf", "plans")
	if err != nil || len(parent) > maxFolder {
		parent = filepath.Join(os.TempDir(), fmt.Sprintf("kopf-plans-%d", os.Getuid()))
	}
	folder, err := workdir.New(parent)
	if err != nil {
		return nil, fmt.Errorf("create a folder for the plan: %w", err)
	}
	return folder, nil
}

// withoutBox adds the alternatives to the reason why no box can be made.
func withoutBox(err error) error {
	return fmt.Errorf("%w\n"+
		"the operator is not started, because it could reach your cluster. There are two ways:\n"+
		"copy the cluster with --save here, and plan with --from --box=none in a container without a network\n"+
		"or trust the operator, and use --box=none", err)
}

// prepare builds the operator, starts the control plane and opens the source at the same time.
func (p *planner) prepare(ctx context.Context, dir string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for _, part := range []func(context.Context) error{
		func(ctx context.Context) error { return p.builds(ctx, dir) }, p.open, p.openSource,
	} {
		all.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// builds builds the operator, unless it is built already, and the other one of a comparison.
func (p *planner) builds(ctx context.Context, dir string) (err error) {
	p.build.dir, p.build.shown = dir, p.flags.visible
	var patterns []string
	if p.flags.against+p.flags.againstCommand != "" { // a wrong name is an error before the builds
		if p.against, patterns, err = p.other(ctx, dir); err != nil {
			return err
		}
	}
	if p.build.binary == "" {
		if p.build.binary, err = p.compile(ctx, dir, p.patterns); err != nil {
			return err
		}
	}
	if patterns == nil {
		return nil
	}
	return p.compileOther(ctx, patterns)
}

func (p *planner) compile(ctx context.Context, dir string, patterns []string) (string, error) {
	program, err := runner.Load(ctx, dir, patterns)
	if err != nil {
		return "", err
	}
	return p.builder.Build(ctx, program)
}

func (p *planner) open(ctx context.Context) (err error) {
	p.cluster, err = devcluster.Open(ctx, devcluster.Options{
		Provider: devcluster.Embedded, Ephemeral: true, Copy: true, Name: fmt.Sprintf("plan-%d", os.Getpid()),
		Progress: p.progress,
	})
	return err
}

// openSource opens the cluster or the file to copy from. Only the opened reader sends requests to that cluster.
func (p *planner) openSource(ctx context.Context) error {
	if p.flags.from != "" {
		file, err := os.Open(p.flags.from)
		if err != nil {
			return usagef("--from: %w", err)
		}
		defer func() { _ = file.Close() }()
		p.copied, err = copy.Read(file)
		if err != nil {
			return usagef("--from=%s: %w", p.flags.from, err)
		}
		return nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = p.flags.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: p.flags.context})
	config, err := loader.ClientConfig()
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", printable.Error(err))
	}
	name := p.flags.context
	if name == "" {
		raw, err := loader.RawConfig()
		if err != nil {
			return fmt.Errorf("read the kubeconfig: %w", printable.Error(err))
		}
		name = raw.CurrentContext
	}
	if p.reader, err = source.Open(config); err != nil {
		return err
	}
	p.copied, err = copy.New(ctx, p.reader, copy.Options{Context: name, Limit: p.flags.limit})
	return err
}

// options returns the options of the trial.
func (p *planner) options(ctx context.Context, folder string) (trial.Options, error) {
	control, err := p.cluster.RESTConfig()
	if err != nil {
		return trial.Options{}, err
	}
	env, err := box.Environment(os.Environ(), p.flags.env)
	if err != nil {
		return trial.Options{}, usagef("--env: %w", err)
	}
	o := trial.Options{
		Proxy:  proxy.Options{Copy: p.copied, Control: control, Load: p.cluster.Load},
		Binary: p.build.binary, Dir: p.build.dir, Visible: p.build.visible(), Places: p.build.places(), Args: p.scope(), Boxed: p.flags.box == boxAuto, Env: env, Emptied: homes(), Hidden: p.hidden(), Folder: folder,
		Calls: p.flags.attempts, MaxWrites: p.flags.maxWrites, Timeout: p.flags.timeout,
	}
	if len(p.flags.manifests) > 0 {
		o.Prepare = p.apply
	}
	if p.flags.as != "now" {
		if o.Proxy.Change, err = p.changer(ctx, o); err != nil {
			return o, err
		}
	}
	if p.flags.rehandle {
		if p.marks, err = newMarks(ctx, o); err != nil {
			return o, err
		}
		o.Proxy.Change = p.marks.change
	}
	return o, nil
}

// scope returns the flags of the operator.
func (p *planner) scope() []string {
	var args []string
	for _, n := range p.flags.namespaces {
		args = append(args, "--namespace="+n)
	}
	if len(p.flags.namespaces) == 0 {
		args = append(args, "--all-namespaces")
	}
	if p.flags.selector != "" {
		args = append(args, "--watch-label-selector="+p.flags.selector)
	}
	return args
}

// hidden returns the files and folders that lead to clusters.
func (p *planner) hidden() []string {
	paths := filepath.SplitList(os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	paths = slices.DeleteFunc(paths, func(path string) bool { return path == "" }) // not the current folder, which has the operator
	if p.flags.kubeconfig != "" {
		paths = append(paths, p.flags.kubeconfig)
	}
	if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, filepath.Join(home, ".kube"))
	}
	if state, err := workdir.StateHome(); err == nil {
		paths = append(paths, filepath.Join(state, "connections")) // kubeconfigs of running operators
	}
	for i, path := range paths {
		if absolute, err := filepath.Abs(path); err == nil {
			paths[i] = absolute
		}
	}
	return paths
}

// apply applies the manifests to the copy.
func (p *planner) apply(ctx context.Context, socket string) error {
	config := &rest.Config{Host: "http://localhost", QPS: -1, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	_, err := apply.Files(ctx, config, p.flags.manifests, apply.Options{Namespace: "default"})
	return err
}

// saveCopy writes the copy to a file. The file has no value of a Secret.
func (p *planner) saveCopy() (err error) {
	file, err := os.OpenFile(p.flags.save, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return usagef("--save: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := p.copied.Write(file); err != nil {
		return fmt.Errorf("save the copy: %w", err)
	}
	s := p.copied.Summary()
	for _, r := range s.Resources {
		p.say("saved %d of %s", r.Count, r.Scope)
	}
	p.say("%s has no value of a Secret: %d values were replaced", p.flags.save, s.Redacted)
	return nil
}

// close stops the control plane, and removes everything that was made for the plan.
func (p *planner) close(ctx context.Context) error {
	var errs []error
	if p.reader != nil {
		p.reader.Close()
	}
	if p.cluster != nil {
		ctx, cancel := context.WithTimeout(ctx, closeTimeout)
		defer cancel()
		errs = append(errs, p.cluster.Close(ctx))
	}
	if p.builder != nil {
		errs = append(errs, p.builder.Close())
	}
	for _, folder := range p.folders {
		errs = append(errs, folder.Remove())
	}
	return errors.Join(errs...)
}

// changer returns the change of the copied objects for the question of --as.
func (p *planner) changer(ctx context.Context, o trial.Options) (question.Change, error) {
	described, err := trial.Describe(ctx, o)
	if err != nil {
		return nil, err
	}
	switch {
	case p.against != nil && p.against.command != "": // it cannot describe itself; operators of Kopf for Python have this finalizer by default
		described = append(described, inspect.Description{Finalizer: pythonFinalizer})
	case p.against != nil: // the copy for both builds must have no records of either
		other := p.against.in(o)
		if other.Folder, err = p.newFolder(); err != nil {
			return nil, err
		}
		others, err := trial.Describe(ctx, other)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.against.name, err)
		}
		described = append(described, others...)
	}
	change := question.Delete(described, time.Now())
	if p.flags.as == "create" {
		change = question.Create(described)
	}
	return func(resource schema.GroupResource, object map[string]any) map[string]any {
		changed := change(resource, object)
		if changed == nil {
			p.leftOut.Add(1)
		}
		return changed
	}, nil
}
