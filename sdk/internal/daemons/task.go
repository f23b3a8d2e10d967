package daemons

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Task is a daemon or a timer of one object.
type Task struct {
	Handler *handlers.Handler
	Patch   *patch.Patch // what the handler changes; the host sends it

	group   *Group
	stopper stopper
	done    chan struct{} // closed at the end

	progress progress // touched by the step that is made

	mu      sync.Mutex
	cancel  context.CancelCauseFunc // of the attempt that goes on; nil if there is none
	timer   *time.Timer             // of the next step; nil while one is made
	waits   wait                    // why there is the timer
	hurried bool                    // the next step shall not wait if this one fails
}

func newTask(g *Group, h *handlers.Handler) *Task {
	return &Task{Handler: h, Patch: patch.NewPatch(), group: g, done: make(chan struct{})}
}

// String names the task as the log does.
func (t *Task) String() string { return t.Handler.String() }

// Live returns the newest version of the object.
func (t *Task) Live() *object.Object { return t.group.Live() }

// Views returns what the tasks of the object have decoded of it.
func (t *Task) Views() *Views { return &t.group.views }

// Newer returns a channel that closes when there is a newer version than now.
func (t *Task) Newer() <-chan struct{} { return t.group.Newer() }

// Wrote notes a version of the object that the task has made.
func (t *Task) Wrote(object *object.Object) { t.group.Wrote(object) }

// Stopping returns a channel that closes when the task should end.
func (t *Task) Stopping() <-chan struct{} { return t.stopper.stopping() }

// Reason tells why the task should end; 0 if it should not.
func (t *Task) Reason() Reason { return t.stopper.why() }

// Sleep waits for a while. It returns false at once when the task should end.
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

// cause is why the context of the handler ends.
func (t *Task) cause() error {
	reason := t.stopper.why()
	if t.group.settings.Cause == nil {
		return reason
	}
	return t.group.settings.Cause(reason)
}

// end is the last that is done for a task.
func (t *Task) end() {
	if t.progress.begun {
		how := " has exited on its own and will not be retried or restarted."
		if t.stopped() {
			how = " has exited on request and will not be retried or restarted."
		}
		t.group.host.Logger().Debug(t.String() + how)
	}
	t.group.forget(t)
	close(t.done)
	if t.stopped() {
		t.group.host.Ended(t)
	}
}
