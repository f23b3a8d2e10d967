package runner

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// maxTail is the number of last lines on standard error that are kept to find a panic
	// in them. The trace of one goroutine rarely has 100 lines.
	maxTail = 400

	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second

	// reviewsWait is the longest restart delay for which reviews wait. While the code keeps crashing, every request
	// in the cluster would otherwise wait for its full timeout.
	reviewsWait = firstBackoff

	// stableAfter is how long an operator must have run for its crash to reset the backoff.
	stableAfter = time.Minute
)

// backoff returns the delay of the restart after a number of crashes in a row.
func backoff(crashes int) time.Duration {
	return min(firstBackoff<<min(crashes-1, 10), maxBackoff)
}

// scheduleRestart publishes a crash and restarts the operator after a backoff.
func (l *loop) scheduleRestart(op *operator, exit string, tail []string) {
	if time.Since(op.started) > stableAfter {
		l.crashes = 0
	}
	l.crashes++
	delay := backoff(l.crashes)
	l.notBefore = time.Now().Add(delay)
	if delay > reviewsWait && l.opts.WayIn != nil {
		l.opts.WayIn.Refuse()
	}
	l.restart.Reset(time.Until(l.notBefore))
	dir := ""
	if l.program != nil {
		dir = l.program.Dir
	}
	process := Process{
		Phase: ProcessCrashed, Started: op.started, Restarts: l.crashes, Exit: exit,
		Panic: findPanic(tail, dir), RestartAt: l.notBefore, Error: lastOutput(tail),
	}
	l.store.update(func(s *State) { s.Live, s.Process = false, process })
	if l.opts.Once {
		l.fatal = &CrashError{Process: process}
	}
}

// lastOutput returns the message of a panic; without a panic, the last lines on standard error.
func lastOutput(tail []string) string {
	if p := findPanic(tail, ""); p != nil {
		return "panic: " + p.Message
	}
	lines := slices.DeleteFunc(slices.Clone(tail), func(line string) bool { return strings.TrimSpace(line) == "" })
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// CrashError reports that the operator exited without being asked to.
type CrashError struct{ Process Process }

func (e *CrashError) Error() string {
	p := e.Process
	if p.Panic != nil && p.Panic.File != "" {
		return fmt.Sprintf("the operator crashed at %s:%d: %s", p.Panic.File, p.Panic.Line, p.Panic.Message)
	}
	if p.Error == "" {
		return "the operator exited unexpectedly: " + p.Exit
	}
	return fmt.Sprintf("the operator exited unexpectedly: %s\n%s", p.Exit, p.Error)
}
