package binary

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// builder compiles the program from its source.
type builder struct {
	source source
	report func(Progress)
	now    func() time.Time
	// tmp is the folder for temporary files of the go command, which may leave some behind.
	tmp string
}

func (b builder) build(ctx context.Context, out string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return &fault.Error{
			Kind:    fault.ErrNoToolchain,
			Message: "cannot build the embedded control plane: no go command in the PATH",
			Next:    "install Go (https://go.dev), or set " + EnvVar + " to the path of a built program",
		}
	}
	dir := b.source.dir
	if dir == "" {
		var err error
		if dir, err = b.download(ctx); err != nil {
			return err
		}
	}
	flags, err := buildFlags(dir)
	if err != nil {
		return err
	}
	plan, err := b.plan(ctx, dir, flags)
	if err != nil {
		return err
	}
	return b.compile(ctx, dir, flags, out, plan)
}

// buildFlags returns the flags of every build of a source. They are constant, because other
// flags would compile everything again.
func buildFlags(dir string) ([]string, error) {
	path := filepath.Join(dir, "go.mod")
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the source of the control plane: %w", err)
	}
	mod, err := modfile.ParseLax(path, body, nil)
	if err != nil {
		return nil, fmt.Errorf("read the source of the control plane: %w", err)
	}
	ldflags := "-s -w"
	for _, r := range mod.Require {
		if r.Mod.Path == "k8s.io/kubernetes" {
			// Otherwise the API server would report a placeholder version.
			ldflags += " -X k8s.io/component-base/version.gitVersion=" + r.Mod.Version
		}
	}
	// -mod overrides a -mod in the user's GOFLAGS, which is meant for other modules.
	return []string{"-mod=readonly", "-buildvcs=false", "-ldflags=" + ldflags}, nil
}

// download fetches the released source into the module cache and returns its folder, where it
// is built with the go.sum of the release.
func (b builder) download(ctx context.Context) (dir string, err error) {
	name := sourceModule + "@" + b.source.version
	b.report(Progress{Step: StepDownload, Message: "downloading " + name})
	dir, err = b.moduleFolder(ctx, name)
	if err != nil {
		return "", buildError(ctx, "cannot download the source of the control plane", err)
	}
	return dir, nil
}

func (b builder) compile(ctx context.Context, dir string, flags []string, out string, p plan) error {
	done, began := p.cached, b.now()
	report := func(message string) {
		left := remaining(b.now().Sub(began), done-p.cached, p.total-p.cached, runtime.GOMAXPROCS(0))
		b.report(Progress{Step: StepCompile, Done: done, Total: p.total, Remaining: left, Message: message})
	}
	report("compiling the control plane")
	args := append([]string{"build", "-v", "-o", out}, flags...)
	_, err := b.goCommand(ctx, dir, func(line string) bool {
		if !p.pending[line] {
			return false
		}
		delete(p.pending, line)
		// -v names a package when its compilation starts.
		report("compiling " + line)
		done++
		if line == p.main {
			b.report(Progress{Step: StepLink, Done: p.total, Total: p.total, Message: "linking the control plane"})
		}
		return true
	}, append(args, ".")...)
	if err != nil {
		return buildError(ctx, "cannot build the control plane", err)
	}
	return nil
}

// buildError distinguishes a cancelled build from a failed one.
func buildError(ctx context.Context, message string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("build the control plane: %w", context.Cause(ctx))
	}
	return &fault.Error{
		Kind: fault.ErrBuild, Message: message, Cause: err,
		Next: "fix that, or set " + EnvVar + " to the path of a built program",
	}
}
