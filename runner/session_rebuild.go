package runner

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// maxHistory is the number of reloads in [Build.History].
const maxHistory = 50

// trigger is the reason for a build: the start of the session, a change of files, or an intent.
type trigger struct {
	at     time.Time
	first  bool
	forced bool     // restart the operator even if the binary is unchanged
	files  []string // the changed files
}

// buildTask is a build in progress. The next trigger cancels it, because its result would
// be outdated.
type buildTask struct {
	trigger
	started time.Time
	cancel  context.CancelFunc
	done    chan struct{}
}

type buildResult struct {
	task    *buildTask
	program *Program // set even if the build failed
	binary  string
	digest  string
	took    time.Duration
	err     error
}

// handleSavedSources publishes changes of source files, and builds them.
func (l *loop) handleSavedSources(c change) {
	files := l.relative(c.files)
	l.store.update(func(s *State) {
		s.Build.SavedAt = c.last
		if l.opts.NoReload || l.opts.Hold {
			s.Build.Saved = slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.Build.Saved, files))))
		}
	})
	if !l.opts.NoReload {
		l.triggerBuild(trigger{at: c.at, files: files})
	}
}

// triggerBuild cancels the build in progress, drops the build that waits, and starts a new one.
func (l *loop) triggerBuild(why trigger) {
	ctx, cancel := context.WithCancel(l.ctx)
	task := &buildTask{trigger: why, started: time.Now(), cancel: cancel, done: make(chan struct{})}
	former := l.build
	if former != nil {
		former.cancel()
		task.first = former.first
		task.forced = task.forced || former.forced
		task.files = slices.Compact(slices.Sorted(slices.Values(slices.Concat(former.files, task.files))))
	}
	if held := l.dropHeld(); held != nil {
		task.files = slices.Compact(slices.Sorted(slices.Values(slices.Concat(held.task.files, task.files))))
	}
	l.build = task
	program := l.program
	l.store.update(func(s *State) {
		s.Build.Phase, s.Build.Started, s.Build.Files = BuildBuilding, task.started, task.files
	})
	l.tasks.Go(func() {
		defer cancel()
		defer close(task.done)
		if former != nil {
			<-former.done // the Builder must not be used concurrently
		}
		result := l.runBuild(ctx, task, program)
		post(l.ctx, l.built, result)
		if result.program != nil {
			l.watchProgramSources(ctx, result.program, task.started)
		}
	})
}

// runBuild loads the program, unless it is already loaded, and builds it.
func (l *loop) runBuild(ctx context.Context, task *buildTask, program *Program) buildResult {
	r := buildResult{task: task, program: program}
	if program == nil || program.hasWildcard() {
		var folders []string
		r.program, folders, r.err = load(ctx, l.opts.Dir, l.opts.Patterns)
		if r.err != nil {
			l.watcher.set(ctx, watchSet{folders: folders, since: task.started})
			r.took = time.Since(task.started)
			return r
		}
		if task.first {
			// Watch the packages during the first build; watchProgramSources adds the rest.
			l.watcher.set(ctx, watchSet{folders: folders, since: task.started})
		}
	}
	r.binary, r.err = l.builder.Build(ctx, r.program)
	if _, ok := errors.AsType[*BuildFailure](r.err); ok && r.program == program {
		// A Register or a main may have been added or removed: load the packages again.
		found, _, err := load(ctx, l.opts.Dir, l.opts.Patterns)
		switch {
		case err != nil && isFixableInCode(err) && !isBuildFailure(err):
			r.err = err
		case err == nil && !maps.Equal(found.overlay, program.overlay):
			r.program = found
			r.binary, r.err = l.builder.Build(ctx, found)
		}
	}
	if r.err == nil {
		r.digest, r.err = digestOf(r.binary)
	}
	if r.err == nil && !task.first && l.opts.Define != nil {
		l.opts.Define(ctx)
	}
	r.took = time.Since(task.started)
	return r
}

// hasWildcard reports whether new packages may join the program without a change in its files.
func (p *Program) hasWildcard() bool {
	return slices.ContainsFunc(p.patterns, func(s string) bool { return strings.Contains(s, "...") })
}

// watchProgramSources makes the watcher watch the sources of the program.
func (l *loop) watchProgramSources(ctx context.Context, p *Program, since time.Time) {
	set, err := p.sourceSet(ctx, since)
	if err != nil {
		if ctx.Err() == nil {
			l.store.say(inspect.LevelWarn, fmt.Sprintf("cannot watch some source files: %v; rebuild by hand after changing them", err))
		}
		return
	}
	l.watcher.set(ctx, set)
}

// handleBuildResult publishes the result of a build, and uses or holds the build. It ignores the result if a newer build is in
// progress.
func (l *loop) handleBuildResult(r buildResult) {
	if r.task != l.build {
		return
	}
	l.build = nil
	if r.program != nil {
		l.program = r.program
	}
	switch {
	case r.err != nil:
		l.publishBuildFailure(r)
		if !r.task.first {
			l.recordReload(reloadOf(r))
		}
	case l.mustHold(r):
		l.hold(r)
	default:
		l.use(r)
	}
}

// reloadOf returns the reload of a build.
func reloadOf(r buildResult) Reload {
	return Reload{At: r.task.at, Files: r.task.files, Built: r.err == nil, Build: r.took}
}

// use publishes a successful build, and requests a new process if the binary has changed.
func (l *loop) use(r buildResult) {
	reload := reloadOf(r)
	same := r.digest == l.digest && !r.task.forced && l.operator != nil && !l.operator.stopping
	if l.binary != "" {
		// The running process does not need its file. An error means that the file was deleted.
		_ = os.Remove(l.binary)
	}
	l.binary, l.digest = r.binary, r.digest
	l.store.update(func(s *State) {
		s.Packages, s.Dir = l.program.Packages, l.program.Dir
		s.Build.Phase, s.Build.Took, s.Build.Errors = BuildBuilt, r.took, nil
		if !s.Build.SavedAt.After(r.task.started) {
			s.Build.Saved = nil
		}
		if !same && l.operator != nil {
			s.Process.Phase = ProcessStopping // so that readers of the state do not attribute its objects to the new code
		}
	})
	if same {
		reload.Ready = time.Since(r.task.at) // the running process already has this code
		l.recordReload(reload)
		l.reload = time.Time{}
		return
	}
	if !r.task.first {
		l.recordReload(reload)
	}
	l.requestNewProcess()
}

// recordReload adds a reload to the history. The next process belongs to it.
func (l *loop) recordReload(r Reload) {
	if r.Built {
		l.reload = r.At
	}
	l.store.update(func(s *State) {
		s.Build.History = slices.Insert(slices.Clone(s.Build.History), 0, r)
		if len(s.Build.History) > maxHistory {
			s.Build.History = s.Build.History[:maxHistory]
		}
	})
}

// publishBuildFailure publishes the errors of a failed build.
func (l *loop) publishBuildFailure(r buildResult) {
	if l.opts.Once || r.task.first && !isFixableInCode(r.err) {
		l.fatal = r.err
	}
	l.store.update(func(s *State) {
		if l.program != nil {
			s.Packages, s.Dir = l.program.Packages, l.program.Dir
		}
		s.Build.Phase, s.Build.Took, s.Build.Errors = BuildFailed, r.took, buildErrors(r.err)
	})
}

// isFixableInCode reports whether an edit of the code can fix the error.
func isFixableInCode(err error) bool {
	if isBuildFailure(err) {
		return true
	}
	if _, ok := errors.AsType[*NoRegisterError](err); ok {
		return true
	}
	_, ok := errors.AsType[*SignatureError](err)
	return ok
}

// digestOf returns a hash of an executable. Builds of equal sources have equal hashes.
func digestOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the built operator: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content)), nil
}
