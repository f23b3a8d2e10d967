package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/plan/trial"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// compare runs the other build twice, each time on a new copy, and compares its behaviour with the given result.
func (p *planner) compare(ctx context.Context, o trial.Options, now *trial.Result) (*shapes.Against, error) {
	o = p.against.in(o)
	var before [2]*trial.Result
	for i := range before {
		if err := p.reopen(ctx); err != nil {
			return nil, err
		}
		control, err := p.cluster.RESTConfig()
		if err != nil {
			return nil, err
		}
		o.Proxy.Control, o.Proxy.Load = control, p.cluster.Load
		if o.Folder, err = p.newFolder(); err != nil {
			return nil, err
		}
		p.step(fmt.Sprintf("running %s on a copy (%d of %d)", p.against.name, i+1, len(before)))
		if before[i], err = trial.Run(ctx, o); err != nil {
			return nil, p.against.failed(err, o.Boxed)
		}
	}
	compare := shapes.Compare
	if p.against.command != "" {
		compare = shapes.CompareForeign
	}
	against := compare(recordOf(now), recordOf(before[0]), recordOf(before[1]))
	against.Build, against.Commit = p.against.name, p.against.commit
	both := untried(now)
	against.NotTried = slices.DeleteFunc(untried(before[0]), func(reason string) bool { return slices.Contains(both, reason) })
	for _, result := range before {
		if against.Ended == "" {
			against.Ended = result.Ended
		}
	}
	return against, nil
}

// recordOf returns the part of a result that shapes are made of.
func recordOf(r *trial.Result) shapes.Trial {
	return shapes.Trial{Requests: r.Requests, Objects: r.Objects, Operator: r.Snapshot.Operator, Handlers: r.Snapshot.Handlers, Body: r.Body, Places: r.Places}
}

// in returns the options of a trial for the build.
func (b *planBuild) in(o trial.Options) trial.Options {
	o.Binary, o.Dir, o.Visible, o.Places = b.binary, b.dir, b.visible(), b.places()
	if b.command != "" {
		o.Foreign, o.Args = true, []string{"-c", b.command}
	}
	return o
}

// reopen replaces the control plane by an empty one.
func (p *planner) reopen(ctx context.Context) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := p.cluster.Close(closing); err != nil {
		return err
	}
	p.cluster = nil
	return p.open(ctx)
}

// other finds the program of --against, or of --against-command. For a git ref, it writes the files of the ref to a folder, and returns the
// patterns of the packages to compile there.
func (p *planner) other(ctx context.Context, dir string) (_ *planBuild, patterns []string, err error) {
	if p.flags.againstCommand != "" {
		b, err := foreignBuild(p.flags.againstCommand, dir, p.flags.visible)
		return b, nil, err
	}
	folder, err := p.newFolder()
	if err != nil {
		return nil, nil, err
	}
	b := &planBuild{name: p.flags.against, dir: dir, shown: p.flags.visible}
	if info, err := os.Stat(b.name); err == nil && info.Mode().IsRegular() {
		if info.Mode()&0o111 == 0 {
			return nil, nil, usagef("--against=%s is a file that cannot be executed; want a program, or a git ref", b.name)
		}
		b.binary = filepath.Join(folder, "operator") // in a box, the folder of the program is visible
		if err := copyProgram(b.name, b.binary); err != nil {
			return nil, nil, usagef("--against: %w", err)
		}
		return b, nil, nil
	}
	p.build.root, patterns, err = b.checkOut(ctx, folder, p.patterns)
	return b, patterns, err
}

// compileOther compiles the packages of the git ref.
func (p *planner) compileOther(ctx context.Context, patterns []string) (err error) {
	b := p.against
	if b.binary, err = p.compile(ctx, b.dir, patterns); err != nil {
		if _, ok := errors.AsType[*runner.BuildFailure](err); ok { // its list of errors is printed without the text around
			p.sayUnbuilt()
		}
		return fmt.Errorf("build %s of %s: %w", b.name, p.build.root, err)
	}
	return nil
}

// sayUnbuilt explains why the git ref may not build although this build does.
func (p *planner) sayUnbuilt() {
	b := p.against
	work := b.ignoredWork(p.build.root)
	if work == "" {
		p.say("--against=%s does not build. The build has no files that git ignores:", b.name)
		return
	}
	p.say("--against=%s does not build. The build has no files that git ignores, such as %s", b.name, work)
	p.say("commit it (git add -f %s), or use replace in go.mod; for an older ref, run kopf build in a checkout with a go.work, and use --against=PROGRAM. The errors:", shellWord(work))
}

// ignoredWork returns the go.work of the repository that the files of the ref do not have; empty if none is missing.
func (b *planBuild) ignoredWork(repository string) string {
	for dir := b.dir; isWithin(dir, b.root); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return ""
		}
		within, err := filepath.Rel(b.root, dir)
		if err != nil {
			return ""
		}
		work := filepath.Join(repository, within, "go.work")
		if _, err := os.Stat(work); err == nil {
			return work
		}
	}
	return ""
}

// copyProgram copies a file, and makes the copy executable.
func copyProgram(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it is only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// checkOut writes the files of the ref to a folder, and sets the current folder and the commit. It returns the folder of the repository,
// and the packages in the new folder. The repository is not changed: a worktree of git would leave an entry in it if kopf were killed.
func (b *planBuild) checkOut(ctx context.Context, folder string, patterns []string) (repository string, _ []string, err error) {
	git := func(dir string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		var stdout, stderr bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
		cmd.Env = append(os.Environ(), "GIT_INDEX_FILE="+filepath.Join(folder, "index"))
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			return "", fmt.Errorf("git %s: %w: %s", args[0], err, printable.Lines(strings.TrimSpace(stderr.String())))
		}
		return strings.TrimSpace(stdout.String()), nil
	}
	if repository, err = git(b.dir, "rev-parse", "--show-toplevel"); err != nil {
		return "", nil, usagef("--against=%s is no file, and this folder is in no git repository: %w", b.name, err)
	}
	if b.commit, err = git(b.dir, "rev-parse", "--verify", "--quiet", "--end-of-options", b.name+"^{commit}"); err != nil {
		return "", nil, usagef("--against=%s is no file, and no commit of %s", b.name, repository)
	}
	within, err := git(b.dir, "rev-parse", "--show-prefix")
	if err != nil {
		return "", nil, err
	}
	sources := filepath.Join(folder, "sources")
	if patterns, err = movePatterns(filepath.Join(repository, within), repository, sources, patterns); err != nil {
		return "", nil, err
	}
	if _, err = git(repository, "read-tree", "--no-sparse-checkout", b.commit); err != nil {
		return "", nil, err
	}
	if _, err = git(repository, "checkout-index", "-a", "--prefix="+sources+string(filepath.Separator)); err != nil {
		return "", nil, err
	}
	b.dir, b.root = filepath.Join(sources, within), sources
	if _, err := os.Stat(b.dir); err != nil {
		return "", nil, usagef("--against=%s does not have the folder %s", b.name, within)
	}
	return repository, patterns, nil
}

// movePatterns returns the patterns of packages for a checkout of the repository in another folder.
func movePatterns(dir, repository, to string, patterns []string) ([]string, error) {
	moved := make([]string, len(patterns))
	for i, pattern := range patterns {
		moved[i] = pattern
		path := pattern
		switch {
		case filepath.IsAbs(pattern):
			if resolved, err := filepath.EvalSymlinks(pattern); err == nil {
				path = resolved
			}
		case pattern == "." || pattern == ".." || strings.HasPrefix(pattern, "./") || strings.HasPrefix(pattern, "../"):
			path = filepath.Join(dir, pattern)
		default:
			continue // an import path
		}
		within, err := filepath.Rel(repository, path)
		if err != nil || within == ".." || strings.HasPrefix(within, "../") {
			return nil, usagef("%s is not in %s, the git repository of --against", pattern, repository)
		}
		if filepath.IsAbs(pattern) {
			moved[i] = filepath.Join(to, within)
		}
	}
	return moved, nil
}
