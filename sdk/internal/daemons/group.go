package daemons

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Host has the methods of the operator that a group calls. It must be safe for concurrent use.
type Host interface {
	// MayStart reports whether tasks may start. It is called right before each start, with the group locked. After it
	// returned false, [Group.Tasks] returns the final list of tasks.
	MayStart() bool

	// Enter returns the context of an attempt and of its delivery. The context is bound to the current term of the operator.
	Enter(ctx context.Context) context.Context

	// NewTurn returns the turn of a handler whose calls are limited. Wake is called when it gets the slot that it waits for.
	NewTurn(h *handlers.Handler, wake func()) Turn

	// AwaitsSlot is called when the call of a task must wait for a slot.
	AwaitsSlot(task *Task)

	// Attempt calls the handler of a task once. The argument retries is the number of earlier attempts since the last
	// success, and started is the time of the first of these attempts. It returns false if the handler may not be called
	// now.
	Attempt(ctx context.Context, task *Task, retries int, started time.Time) (out handlers.Outcome, counts bool)

	// Deliver sends the patch of the task, and the result of the attempt. It logs failures; the task
	// continues.
	Deliver(ctx context.Context, task *Task, out handlers.Outcome)

	// Ended is called when a stopped task has ended.
	Ended(task *Task)

	// Logger returns the logger of the object.
	Logger() *slog.Logger
}

// Turn is the right to call a handler whose calls are limited. See [slots.Turn].
type Turn interface {
	Reserve(urgent bool) bool
	Begin() bool
	End()
	Leave()
}

// Settings are the settings of all tasks.
type Settings struct {
	Polling     time.Duration // interval between checks of a task that was asked to stop
	InstantExit time.Duration // time to block for tasks that stop at once

	// Cause converts the reason of a stop to the cause of the context's cancellation. If Cause is nil, the cause is the
	// reason itself.
	Cause func(Reason) error
}

// Group runs the tasks of one object. It is safe for concurrent use, except that [Group.Start],
// [Group.StopMismatched] and [Group.Stop] must be called by one goroutine at a time.
type Group struct {
	host     Host
	settings Settings
	ctx      context.Context // never ends
	views    Views

	mu         sync.Mutex
	tasks      []*Task              // running tasks, in order of their start
	retired    map[string]bool      // handlers that ended on their own and do not start again; true if they failed permanently
	initialDue map[string]time.Time // end of the initial delay, by handler id
	live       *object.Object
	wrote      string        // resourceVersion of a task's patch, until the event of this version arrives; otherwise empty
	newer      chan struct{} // closed when there is a newer version; nil if no goroutine waits for it
	essence    uint64        // hash of the essence that idle timers know; zero if no timer waits for changes
	lastChange time.Time     // time of the last change of the object's essence
}

// NewGroup returns the group of an object. Its tasks get the values of the context, but do not end with the context.
func NewGroup(ctx context.Context, host Host, settings Settings, object *object.Object) *Group {
	return &Group{host: host, settings: settings, ctx: context.WithoutCancel(ctx), live: object, lastChange: time.Now()}
}

// Retired returns the ids of the handlers that ended on their own and do not start again, with true if they failed permanently. A
// nil group has none.
func (g *Group) Retired() map[string]bool {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.retired)
}

// Tasks returns the tasks that have not ended yet, in the order of their start. A nil group has none.
func (g *Group) Tasks() []*Task {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.tasks)
}

// Start starts the tasks of the handlers, unless they are running or ended on their own.
func (g *Group) Start(hs []*handlers.Handler) {
	for _, h := range hs {
		if t, delay := g.add(h); t != nil {
			t.begin(delay)
		}
	}
}

// add returns a new task of a handler with its initial delay; nil if it must not start.
func (g *Group) add(h *handlers.Handler) (*Task, time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	runs := slices.ContainsFunc(g.tasks, func(t *Task) bool { return t.Handler.ID == h.ID })
	if _, retired := g.retired[h.ID]; retired || runs || !g.host.MayStart() {
		return nil, 0
	}
	t := newTask(g, h)
	g.tasks = append(g.tasks, t)
	return t, g.initialDelay(h)
}

// initialDelay returns the remaining initial delay of a handler. The delay applies once for each object. It does not apply
// again if a task restarts because the object matches again.
func (g *Group) initialDelay(h *handlers.Handler) time.Duration {
	if h.InitialDelay == nil {
		return 0
	}
	due, known := g.initialDue[h.ID]
	if !known {
		due = time.Now().Add(*h.InitialDelay)
		if g.initialDue == nil {
			g.initialDue = make(map[string]time.Time, 1)
		}
		g.initialDue[h.ID] = due
	}
	return time.Until(due)
}

// forget drops a task that has ended. If it ended on its own, it does not start again.
func (g *Group) forget(t *Task) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.stopper.why() == 0 {
		if g.retired == nil {
			g.retired = make(map[string]bool, 1)
		}
		g.retired[t.Handler.ID] = t.failed
	}
	g.tasks = slices.DeleteFunc(g.tasks, func(other *Task) bool { return other == t })
}
