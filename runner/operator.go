package runner

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

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
