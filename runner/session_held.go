package runner

import (
	"errors"
	"os"
	"time"
)

// mustHold reports whether a successful build waits for [IntentRun]: it has saved files that the operator does not run, also if an
// earlier build of these files has failed, and differs from the build of the operator.
func (l *loop) mustHold(r buildResult) bool {
	return l.opts.Hold && l.begun && len(l.State().Build.Saved) > 0 && r.digest != l.digest
}

// hold keeps a build beside the build of the operator.
func (l *loop) hold(r buildResult) {
	l.held = &r
	l.store.update(func(s *State) {
		s.Build.Phase, s.Build.Took, s.Build.Errors, s.Build.Held = BuildBuilt, r.took, nil, r.binary
	})
}

// dropHeld removes the build that waits, and returns it; nil if none waits.
func (l *loop) dropHeld() *buildResult {
	held := l.held
	if held == nil {
		return nil
	}
	l.held = nil
	_ = os.Remove(held.binary) // its folder is removed at the end
	l.store.update(func(s *State) { s.Build.Held = "" })
	return held
}

// runHeld uses the build that waits, if it is this executable.
func (l *loop) runHeld(binary string) error {
	switch {
	case l.build != nil:
		return errors.New("newer code is being built")
	case l.held == nil:
		return errors.New("no build waits")
	case l.held.binary != binary:
		return errors.New("a newer build waits instead")
	}
	r := *l.held
	l.held = nil
	l.store.update(func(s *State) { s.Build.Held = "" })
	task := *r.task
	task.at = time.Now()
	r.task = &task
	l.use(r)
	return nil
}
