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
)

// maxHistory is how many reloads are remembered.
const maxHistory = 50

// cause is why a build is made.
type cause struct {
	at     time.Time
	first  bool
	forced bool     // wished for: the operator is restarted even if it stays the same
	files  []string // that changed
}

// buildTask is a build under way. A change while it runs ends it: what it would make
// is out of date.
type buildTask struct {
	cause
	started time.Time
	cancel  context.CancelFunc
	done    chan struct{}
}

type buildResult struct {
	task    *buildTask
	program *Program // as it was found, even if it was not built
	binary  string
	digest  string
	took    time.Duration
	err     error
}

// startBuild begins a build instead of the one under way.
func (l *loop) startBuild(why cause) {
	ctx, cancel := context.WithCancel(l.ctx)
	task := &buildTask{cause: why, started: time.Now(), cancel: cancel, done: make(chan struct{})}
	former := l.build
	if former != nil {
		former.cancel()
		task.first = former.first
		task.forced = task.forced || former.forced
		task.files = slices.Compact(slices.Sorted(slices.Values(slices.Concat(former.files, task.files))))
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
			<-former.done // the Builder is for one at a time
		}
		result := l.runBuild(ctx, task, program)
		post(l.ctx, l.built, result)
		if result.program != nil {
			l.watchSources(ctx, result.program, task.started)
		}
	})
}

// runBuild finds the program, if need be, and builds it.
func (l *loop) runBuild(ctx context.Context, task *buildTask, program *Program) buildResult {
	r := buildResult{task: task, program: program}
	if program == nil || program.isOpen() {
		var folders []string
		r.program, folders, r.err = load(ctx, l.opts.Dir, l.opts.Patterns)
		if r.err != nil {
			l.watcher.set(ctx, watchSet{folders: folders, since: task.started})
			r.took = time.Since(task.started)
			return r
		}
		if task.first {
			// The rest follows after the build; these are where one edits meanwhile.
			l.watcher.set(ctx, watchSet{folders: folders, since: task.started})
		}
	}
	r.binary, r.err = l.builder.Build(ctx, r.program)
	if _, ok := errors.AsType[*BuildFailure](r.err); ok && r.program == program {
		// The code may have changed its shape: a Register less, a main more.
		found, _, err := load(ctx, l.opts.Dir, l.opts.Patterns)
		switch {
		case err != nil && isMendable(err) && !isBuildFailure(err):
			r.err = err
		case err == nil && !maps.Equal(found.overlay, program.overlay):
			r.program = found
			r.binary, r.err = l.builder.Build(ctx, found)
		}
	}
	if r.err == nil {
		r.digest, r.err = digestOf(r.binary)
	}
	r.took = time.Since(task.started)
	return r
}

// isOpen tells that packages may join the program without its files being changed.
func (p *Program) isOpen() bool {
	return slices.ContainsFunc(p.patterns, func(s string) bool { return strings.Contains(s, "...") })
}

// watchSources makes the watcher watch what the program is built from.
func (l *loop) watchSources(ctx context.Context, p *Program, since time.Time) {
	set, err := p.sourceSet(ctx, since)
	if err != nil {
		if ctx.Err() == nil {
			l.store.say("warn", fmt.Sprintf("changes in some files will not be noticed: %v", err))
		}
		return
	}
	l.watcher.set(ctx, set)
}

// takeBuild takes the result of a build in, unless a newer build is under way.
func (l *loop) takeBuild(r buildResult) {
	if r.task != l.build {
		return
	}
	l.build = nil
	if r.program != nil {
		l.program = r.program
	}
	reload := Reload{At: r.task.at, Files: r.task.files, Built: r.err == nil, Build: r.took}
	if r.err != nil {
		l.failBuild(r)
		if !r.task.first {
			l.remember(reload)
		}
		return
	}
	same := r.digest == l.digest && !r.task.forced && l.operator != nil && !l.operator.stopping
	if l.binary != "" {
		// The running process does not need its file; it fails only if it is gone already.
		_ = os.Remove(l.binary)
	}
	l.binary, l.digest = r.binary, r.digest
	l.store.update(func(s *State) {
		s.Packages, s.Module, s.Dir = l.program.Packages, l.program.Module, l.program.Dir
		s.Build.Phase, s.Build.Took, s.Build.Errors = BuildBuilt, r.took, nil
	})
	if same {
		reload.Ready = time.Since(r.task.at) // the code is the running one
		l.remember(reload)
		l.reload = time.Time{}
		return
	}
	if !r.task.first {
		l.remember(reload)
	}
	l.wantOperator()
}

// remember adds a reload to the history. The next operator is what it led to.
func (l *loop) remember(r Reload) {
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

// failBuild publishes why there is no new operator.
func (l *loop) failBuild(r buildResult) {
	if l.opts.Once || r.task.first && !isMendable(r.err) {
		l.fatal = r.err
	}
	l.store.update(func(s *State) {
		if l.program != nil {
			s.Packages, s.Module, s.Dir = l.program.Packages, l.program.Module, l.program.Dir
		}
		s.Build.Phase, s.Build.Took, s.Build.Errors = BuildFailed, r.took, buildErrors(r.err)
	})
}

// isMendable tells that an edit of the code can mend the error.
func isMendable(err error) bool {
	if isBuildFailure(err) {
		return true
	}
	if _, ok := errors.AsType[*NoRegisterError](err); ok {
		return true
	}
	_, ok := errors.AsType[*SignatureError](err)
	return ok
}

// digestOf identifies an executable. The compiler makes the same of the same.
func digestOf(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("reading the built operator: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content)), nil
}
