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

// Host is what the operator does for the tasks. Its methods are called from any goroutine.
type Host interface {
	// MayStart tells whether tasks may be started. It is asked right ahead of each start,
	// with the group locked: who makes it false and then asks for the tasks knows them all.
	MayStart() bool

	// Attempt calls the handler of a task once. The attempts before this one, and the
	// time of the first, are those since the last success.
	Attempt(ctx context.Context, task *Task, retries int, started time.Time) handlers.Outcome

	// Deliver sends what the attempt has left in the task's patch, and its result. What
	// goes wrong is the host's to log: the task goes on.
	Deliver(ctx context.Context, task *Task, out handlers.Outcome)

	// Ended is called when a task that was asked to end has ended: somebody may wait for it.
	Ended(task *Task)

	// Logger is where to tell of the tasks of the object.
	Logger() *slog.Logger
}

// Settings of all tasks.
type Settings struct {
	Polling     time.Duration // how often a task that should be gone is looked after
	InstantExit time.Duration // how long to wait for tasks that end at once

	// Cause is what is the cause of the end of a task's context; nil is the reason itself.
	Cause func(Reason) error
}

// Group are the tasks of one object. It is safe for concurrent use; which tasks there
// should be is for one goroutine at a time to say, which is the object's worker.
type Group struct {
	host     Host
	settings Settings
	ctx      context.Context // carries the values of the operator's; tasks end by their stoppers
	views    Views

	mu      sync.Mutex
	tasks   []*Task              // that have not ended, in the order of their starts
	retired map[string]struct{}  // handlers that have ended by themselves: not to be started again
	due     map[string]time.Time // when the initial delay of a handler is over
	live    *object.Object
	wrote   string        // the version that a task has made, until it is seen
	newer   chan struct{} // closed when there is a newer version; nil if nobody waits for one
	changed time.Time     // when the essence of the object has changed last
}

// NewGroup makes the group of an object. The context gives the tasks its values; its end
// does not end them.
func NewGroup(ctx context.Context, host Host, settings Settings, object *object.Object) *Group {
	return &Group{host: host, settings: settings, ctx: context.WithoutCancel(ctx), live: object, changed: time.Now()}
}

// Retired are the handlers that are not to be started again, since they have ended by
// themselves.
func (g *Group) Retired() map[string]struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.retired)
}

// Tasks returns the tasks that have not ended yet, in the order of their starts.
func (g *Group) Tasks() []*Task {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.tasks)
}

// Adjust starts the tasks of the handlers that match and do not run yet, and asks those to
// end that do not match any more. It returns when to look again after those that take
// their time. A task that is still ending is started again when it has ended.
func (g *Group) Adjust(hs []*handlers.Handler) []time.Duration {
	for _, h := range hs {
		g.start(h)
	}
	var mismatching, ending []*Task
	for _, t := range g.Tasks() {
		switch {
		case !slices.ContainsFunc(hs, func(h *handlers.Handler) bool { return h.ID == t.Handler.ID }):
			mismatching = append(mismatching, t)
		case t.stopper.why() != 0:
			// It matches again, but was told to end: what has begun is brought to an end.
			ending = append(ending, t)
		}
	}
	return append(g.stop(mismatching, FiltersMismatch), g.push(ending)...)
}

// start starts the task of a handler, unless it runs or has ended by itself.
func (g *Group) start(h *handlers.Handler) {
	if t, delay := g.add(h); t != nil {
		t.begin(delay)
	}
}

// add makes the task of a handler that is to be started, and tells after which delay.
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

// initialDelay is what is left of the initial delay of a handler. It is there once for the
// object: a task that is started again, since it matches again, has had it.
func (g *Group) initialDelay(h *handlers.Handler) time.Duration {
	if h.InitialDelay == nil {
		return 0
	}
	due, known := g.due[h.ID]
	if !known {
		due = time.Now().Add(*h.InitialDelay)
		if g.due == nil {
			g.due = make(map[string]time.Time, 1)
		}
		g.due[h.ID] = due
	}
	return time.Until(due)
}

// forget drops a task that has ended. One that has ended by itself is not started again.
func (g *Group) forget(t *Task) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.stopper.why() == 0 {
		if g.retired == nil {
			g.retired = make(map[string]struct{}, 1)
		}
		g.retired[t.Handler.ID] = struct{}{}
	}
	g.tasks = slices.DeleteFunc(g.tasks, func(other *Task) bool { return other == t })
}
