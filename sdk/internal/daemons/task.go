package daemons

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Task is a daemon or timer of one object.
type Task struct {
	Handler *handlers.Handler
	Patch   *patch.Patch // the handler's changes; the host sends them

	group   *Group
	stopper stopper
	turn    Turn          // nil if the calls of the handler are not limited
	done    chan struct{} // closed when the task has ended

	progress progress // only used by the current step
	failed   bool     // the handler failed permanently; set by the last step

	mu             sync.Mutex
	cancel         context.CancelCauseFunc // cancels the current attempt; nil if there is none
	timer          *time.Timer             // timer of the next step; nil during a step
	waits          wait                    // the wait that the timer ends
	retryRequested bool                    // the handler must be retried at once if it fails
	hasSlot        bool                    // a slot became free before the wait for it was scheduled
}

func newTask(g *Group, h *handlers.Handler) *Task {
	t := &Task{Handler: h, Patch: patch.NewPatch(), group: g, done: make(chan struct{})}
	if h.CallLimit != nil {
		t.turn = g.host.NewTurn(h, t.getsSlot)
	}
	return t
}

// String returns the name of the task in log lines.
func (t *Task) String() string { return t.Handler.String() }

// Live returns the newest version of the object.
func (t *Task) Live() *object.Object { return t.group.Live() }

// Views returns the typed views of the object, which all its tasks share.
func (t *Task) Views() *Views { return &t.group.views }

// Newer returns a channel that closes when there is a newer version of the object.
func (t *Task) Newer() <-chan struct{} { return t.group.Newer() }

// Wrote records the version of the object that the task's patch made.
func (t *Task) Wrote(object *object.Object) { t.group.Wrote(object) }

// Stopping returns a channel that closes when the task is asked to stop.
func (t *Task) Stopping() <-chan struct{} { return t.stopper.stopping() }

// Reason returns why the task was asked to stop; 0 if it was not.
func (t *Task) Reason() Reason { return t.stopper.why() }

// Sleep blocks for the duration. It returns false as soon as the task is asked to stop.
func (t *Task) Sleep(d time.Duration) bool {
	stopping := t.Stopping()
	if t.stopped() {
		return false
	}
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stopping:
		return false
	}
}

func (t *Task) stopped() bool { return t.stopper.why() != 0 }

func (t *Task) ended() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// cause returns the cause of the cancellation of the handler's context.
func (t *Task) cause() error {
	reason := t.stopper.why()
	if t.group.settings.Cause == nil {
		return reason
	}
	return t.group.settings.Cause(reason)
}

// end ends a task permanently.
func (t *Task) end() {
	if t.progress.begun {
		how := " has exited on its own and will not be retried or restarted."
		if t.stopped() {
			how = " has exited on request and will not be retried or restarted."
		}
		t.group.host.Logger().Debug(t.String()+how, observe.EventKey, observe.LogDaemonExited)
	}
	t.leaveLine()
	t.group.forget(t)
	close(t.done)
	if t.stopped() {
		t.group.host.Ended(t)
	}
}
