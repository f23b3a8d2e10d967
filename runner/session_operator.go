package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
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

// operator is a process of the operator, with what follows its inspector.
type operator struct {
	serial   int // the loop's wanted that it fulfils
	child    *child
	started  time.Time
	stopping bool      // it was asked to end; of the loop
	reload   time.Time // the At of the reload that led to it; zero if none did

	// Of the goroutine that follows the inspector.
	replica inspect.Replica
	lastLog time.Time
	ready   bool

	mu    sync.Mutex
	heard bool     // a message came from its inspector
	tail  []string // of its standard error
}

// operatorEvent tells that an operator has ended.
type operatorEvent struct {
	operator *operator
	unheard  error // why its inspector could not be read, if that was so
}

// startOperator starts the newest binary.
func (l *loop) startOperator() {
	op := &operator{serial: l.wanted, started: time.Now(), reload: l.reload}
	l.reload = time.Time{}
	address := l.sockets.next()
	client, err := inspect.Dial(address)
	if err == nil {
		op.child, err = start(childSpec{
			path: l.binary,
			args: l.operatorArgs(address),
			dir:  l.opts.Dir,
			line: func(stderr bool, text string) { l.printed(op, stderr, text) },
		})
	}
	if err != nil {
		l.crashed(op, err.Error(), nil)
		return
	}
	l.operator = op
	if !l.begun {
		l.begun = true
		close(l.began)
	}
	l.mu.Lock()
	l.child = op.child
	l.mu.Unlock()
	l.store.update(func(s *State) {
		s.Process.Phase, s.Process.PID, s.Process.Started = ProcessStarting, op.child.pid(), op.started
		s.Process.Restarts = l.crashes
		s.Process.Panic, s.Process.Error, s.Process.RestartAt = nil, "", time.Time{}
	})
	l.failures.renew()
	l.tasks.Go(func() { l.accompany(op, client) })
}

// operatorArgs are the flags of the operator.
func (l *loop) operatorArgs(address string) []string {
	args := append(l.cluster.args(), "--log-format=none", "--inspect="+address)
	return append(args, l.opts.Args...)
}

// args are the flags that lead an operator to the cluster.
func (c Cluster) args() []string {
	var args []string
	if c.Kubeconfig != "" {
		args = append(args, "--kubeconfig="+c.Kubeconfig)
	}
	if c.Context != "" {
		args = append(args, "--context="+c.Context)
	}
	return args
}

// accompany follows the operator to its end, and reports that.
func (l *loop) accompany(op *operator, client *inspect.Client) {
	// It does not end with the session: the operator's last words belong to it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.ctx))
	followed := make(chan error, 1)
	go func() {
		followed <- follow(ctx, client, func(m inspect.Message) error {
			if m.Snapshot != nil {
				l.setLogLevel(ctx, client)
			}
			l.hear(op, client, m)
			return nil
		}, func(error) {}) // the socket is the session's own: it is a matter of time
	}()
	<-op.child.done
	// What the operator sent before it ended is read; then the stream has ended, too.
	timer := time.AfterFunc(drain, cancel)
	if !op.connected() {
		cancel()
	}
	err := <-followed
	timer.Stop()
	cancel()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	l.events <- operatorEvent{op, err}
}

// setLogLevel makes a new operator publish what the former one did.
func (l *loop) setLogLevel(ctx context.Context, client *inspect.Client) {
	l.mu.Lock()
	level := l.logLevel
	l.mu.Unlock()
	if level == "" {
		return
	}
	if err := client.Do(ctx, inspect.Intent{Kind: inspect.IntentLogLevel, Value: level}); err != nil {
		l.store.say("warn", fmt.Sprintf("the log level stays as it is: %v", err))
	}
}

// connected tells that the operator's inspector was heard.
func (o *operator) connected() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.heard
}

// printed takes a line of the program's own output.
func (l *loop) printed(op *operator, stderr bool, text string) {
	if stderr {
		op.mu.Lock()
		op.tail = append(op.tail, text)
		if len(op.tail) > 2*maxTail {
			op.tail = slices.Clone(op.tail[len(op.tail)-maxTail:])
		}
		op.mu.Unlock()
	}
	l.store.log(0, inspect.LogLine{At: time.Now(), Level: LevelPrint, Message: text})
}

// hear takes a message of the operator's inspector.
func (l *loop) hear(op *operator, client *inspect.Client, m inspect.Message) {
	op.mu.Lock()
	op.heard = true
	op.mu.Unlock()
	l.failures.amend(&m)
	op.replica.Apply(m)
	lines := m.Log
	if m.Snapshot != nil {
		// It repeats lines if the stream has started anew, because this reader was slow.
		lines = slices.DeleteFunc(slices.Clone(m.Snapshot.Log), func(line inspect.LogLine) bool { return !line.At.After(op.lastLog) })
	}
	if len(lines) > 0 || m.Dropped > 0 {
		l.store.log(m.Dropped, lines...)
	}
	if len(lines) > 0 {
		op.lastLog = lines[len(lines)-1].At
	}
	if m.More {
		return
	}
	snapshot := op.replica.Snapshot()
	l.failures.saw(snapshot)
	l.mu.Lock()
	l.client = client
	settling := l.settling
	l.mu.Unlock()
	if settling == nil && len(l.opts.Manifests) == 0 {
		settling = newSettling(nil)
	}
	handling := snapshot.Operator.State == inspect.OperatorRunning
	l.store.update(func(s *State) {
		s.Snapshot, s.Live = snapshot, true
		if s.Process.Phase == ProcessStarting {
			s.Process.Phase = ProcessRunning
		}
		switch phase := s.Cluster.Phase; {
		case phase != ClusterReady && phase != ClusterGone:
			// That it has ended is known better here.
		case snapshot.Operator.Lost != "":
			s.Cluster.Phase, s.Cluster.Error = ClusterGone, snapshot.Operator.Lost
		case snapshot.Operator.State != inspect.OperatorStarting:
			s.Cluster.Phase, s.Cluster.Error = ClusterReady, ""
		}
		if handling && !op.ready {
			s.Build.History = markReady(s.Build.History, op.reload, time.Now())
		}
	})
	op.ready = op.ready || handling
	if settling != nil {
		// After the state: who waits for this looks at the state next.
		l.tellSettlement(settling.check(snapshot, time.Now()))
	}
}

// markReady notes when the code of a reload began to handle objects.
func markReady(history []Reload, at, now time.Time) []Reload {
	for i := range history {
		if !at.IsZero() && history[i].At.Equal(at) {
			history = slices.Clone(history)
			history[i].Ready = now.Sub(at)
			break
		}
	}
	return history
}

// tellSettlement replaces the news about what has settled.
func (s *Session) tellSettlement(news settlement) {
	select {
	case <-s.settled:
	default:
	}
	s.settled <- news
}

// stopOperator asks the operator to end.
func (l *loop) stopOperator() {
	op := l.operator
	if op.stopping {
		return
	}
	op.stopping = true
	l.store.update(func(s *State) { s.Process.Phase = ProcessStopping })
	l.tasks.Go(func() { op.child.stop(l.opts.Grace) })
}

// takeEvent takes the end of the operator in.
func (l *loop) takeEvent(event operatorEvent) {
	op := event.operator
	l.operator = nil
	l.mu.Lock()
	l.child, l.client = nil, nil
	l.mu.Unlock()
	if _, ok := errors.AsType[*inspect.VersionError](event.unheard); ok {
		l.store.say("error", event.unheard.Error())
	}
	exit := op.child.cmd.ProcessState.String()
	if op.stopping {
		l.store.update(func(s *State) {
			s.Live = false
			s.Process = Process{Phase: ProcessNone, Started: op.started, Exit: exit}
		})
		return
	}
	l.crashed(op, exit, op.tail)
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
