package runner

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// maxTail is how many of the last lines on standard error are kept, to find the
	// panic in them: the trace of one goroutine, of which there are seldom 100 lines.
	maxTail = 400

	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second

	// steady is how long an operator must have run for its crash to be a first one.
	steady = time.Minute
)

// backoff is the time to wait before the restart after so many crashes in a row.
func backoff(crashes int) time.Duration {
	return min(firstBackoff<<min(crashes-1, 10), maxBackoff)
}

// crashed plans the restart of an operator that has ended without being asked to.
func (l *loop) crashed(op *operator, exit string, tail []string) {
	if time.Since(op.started) > steady {
		l.crashes = 0
	}
	l.crashes++
	l.notBefore = time.Now().Add(backoff(l.crashes))
	l.restart.Reset(time.Until(l.notBefore))
	dir := ""
	if l.program != nil {
		dir = l.program.Dir
	}
	process := Process{
		Phase: ProcessCrashed, Started: op.started, Restarts: l.crashes, Exit: exit,
		Panic: findPanic(tail, dir), RestartAt: l.notBefore, Error: lastWords(tail),
	}
	l.store.update(func(s *State) { s.Live, s.Process = false, process })
	if l.opts.Once {
		l.fatal = &CrashError{Process: process}
	}
}

// lastWords are the last lines on standard error: of a panic, that is its message.
func lastWords(tail []string) string {
	if p := findPanic(tail, ""); p != nil {
		return "panic: " + p.Message
	}
	lines := slices.DeleteFunc(slices.Clone(tail), func(line string) bool { return strings.TrimSpace(line) == "" })
	return strings.Join(lines[max(0, len(lines)-5):], "\n")
}

// CrashError tells that the operator has ended by itself.
type CrashError struct{ Process Process }

func (e *CrashError) Error() string {
	p := e.Process
	if p.Panic != nil && p.Panic.File != "" {
		return fmt.Sprintf("the operator crashed at %s:%d: %s", p.Panic.File, p.Panic.Line, p.Panic.Message)
	}
	if p.Error == "" {
		return "the operator ended by itself: " + p.Exit
	}
	return fmt.Sprintf("the operator ended by itself: %s\n%s", p.Exit, p.Error)
}
