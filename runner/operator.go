package runner

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// operator is one process of the operator and the reader of its inspector.
type operator struct {
	serial   int // value of loop.wanted at the start of the process
	child    *child
	started  time.Time
	stopping bool      // the process was asked to stop; only the loop uses it
	newCode  bool      // the code differs from the code of the previous process
	reload   time.Time // [Reload].At of the reload that started the process; zero without a reload

	// Only the goroutine that reads the inspector uses the following fields.
	feed    operatorFeed // operator's state, assembled from the messages received so far
	ready   bool
	retried bool // a retry of failed handlers was requested
	reviews bool // the operator has become ready to review objects

	note string // path of the file in which the process records its end

	// retrying means that the operator accepted the request to retry the handlers that failed in previous processes.
	retrying bool

	mu        sync.Mutex
	inspected bool     // the operator's inspector has sent a message
	tail      []string // last lines of the operator's standard error
}

// operatorExit reports that an operator's process has exited.
type operatorExit struct {
	operator  *operator
	streamErr error // error of reading the inspector
}

// startOperator starts the newest binary. A failed start is treated as a crash.
func (l *loop) startOperator() {
	op := &operator{serial: l.wanted, started: time.Now(), reload: l.reload, newCode: l.ran != l.digest}
	l.reload, l.ran = time.Time{}, l.digest
	address, reviews := l.sockets.next(), l.sockets.nextPath()
	op.note = reviews + ".note"
	client, err := inspect.Dial(address)
	if err == nil {
		op.child, err = start(childSpec{
			path:       l.binary,
			args:       l.operatorArgs(address, reviews),
			dir:        l.opts.Dir,
			kubeconfig: l.connection.as.Kubeconfig,
			proxies:    l.opts.Proxies,
			note:       op.note,
			asksWayIn:  l.opts.WayIn != nil,
			line:       func(stderr bool, text string) { l.capturePrintedLine(op, stderr, text) },
		})
	}
	if err != nil {
		l.scheduleRestart(op, err.Error(), nil)
		return
	}
	l.operator = op
	l.limitReadiness()
	if l.wayIn == WebhooksOpen {
		l.opts.WayIn.Pass(reviews)
	}
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
	l.tasks.Go(func() { l.followOperator(op, client) })
}

// operatorArgs returns the flags of the operator: the address of its inspector, and the socket for reviews.
func (l *loop) operatorArgs(address, reviews string) []string {
	args := append(l.connection.as.args(), "--log-format=none", "--inspect="+address)
	if l.wayIn == WebhooksOpen {
		args = append(args, l.opts.WayIn.Args(reviews)...)
	}
	return append(args, l.opts.Args...)
}

// args returns the flags that connect an operator to the cluster.
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

// capturePrintedLine adds a line that the program has printed to the log.
func (l *loop) capturePrintedLine(op *operator, stderr bool, text string) {
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

// stopOperator asks the operator to stop, and kills it after the grace period.
func (l *loop) stopOperator() {
	op := l.operator
	if op.stopping {
		return
	}
	op.stopping = true
	l.holdReviews()
	l.store.update(func(s *State) { s.Process.Phase = ProcessStopping })
	l.tasks.Go(func() { op.child.stop(l.opts.Grace) })
}

// handleOperatorExit publishes the exit of the operator, and schedules a restart if it was
// not asked to stop.
func (l *loop) handleOperatorExit(event operatorExit) {
	op := event.operator
	l.operator = nil
	l.holdReviews()
	l.mu.Lock()
	l.child, l.client = nil, nil
	l.mu.Unlock()
	if _, ok := errors.AsType[*inspect.VersionError](event.streamErr); ok {
		l.store.say(inspect.LevelError, event.streamErr.Error())
	}
	exit := op.child.cmd.ProcessState.String()
	asked, err := askedForWayIn(op.note)
	if err != nil {
		l.store.say(inspect.LevelWarn, err.Error())
	}
	_ = os.Remove(op.note) // its folder is removed at the end
	if asked && l.opts.WayIn != nil && !op.stopping {
		l.store.update(func(s *State) { s.Live, s.Process = false, Process{Phase: ProcessNone, Started: op.started} })
		l.reload, l.ran = op.reload, "" // the next process is the first to run this code
		l.openWayIn()
		return
	}
	if op.stopping {
		l.store.update(func(s *State) {
			s.Live = false
			s.Process = Process{Phase: ProcessNone, Started: op.started, Exit: exit}
		})
		return
	}
	l.scheduleRestart(op, exit, op.tail)
}

// holdReviews makes reviews wait for the next operator.
func (l *loop) holdReviews() {
	if l.opts.WayIn != nil {
		l.opts.WayIn.Hold()
	}
}
