package background

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// Host is what the operator does for the tasks. Its methods are called from the tasks'
// goroutines.
type Host interface {
	// MayStart tells whether tasks may be started. It is asked right ahead of each start,
	// with the group locked: who makes it false and then asks for the tasks knows them all.
	MayStart() bool

	// Attempt calls the handler of a task once. The attempts before this one, and the
	// time of the first, are those since the last success.
	Attempt(ctx context.Context, task *Task, retries int, started time.Time) outcome.Outcome

	// Deliver sends what the attempt has left in the task's patch, and its result. What
	// goes wrong is the host's to log: the task goes on.
	Deliver(ctx context.Context, task *Task, out outcome.Outcome)

	// Ended is called when a task that was asked to end has ended: somebody may wait for it.
	Ended(task *Task)
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
	logger   *slog.Logger
	ctx      context.Context // carries the values of the operator's; tasks end by their stoppers

	mu      sync.Mutex
	tasks   map[string]*Task
	started int                 // tasks so far
	retired map[string]struct{} // handlers that have ended by themselves: not to be started again
	live    *wire.Object
	wrote   string        // the version that a task has made, until it is seen
	newer   chan struct{} // closed when there is a newer version
	hurried chan struct{} // closed when failed tasks are to try again at once
	changed time.Time     // when the essence of the object has changed last
}

// NewGroup makes the group of an object. The context gives the tasks its values; its end
// does not end them.
func NewGroup(ctx context.Context, host Host, settings Settings, logger *slog.Logger, object *wire.Object) *Group {
	return &Group{
		host: host, settings: settings, logger: logger, ctx: context.WithoutCancel(ctx),
		tasks: map[string]*Task{}, live: object, newer: make(chan struct{}), hurried: make(chan struct{}), changed: time.Now(),
	}
}

// Retired are the handlers that are not to be started again, since they have ended by
// themselves.
func (g *Group) Retired() map[string]struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.retired) == 0 {
		return nil
	}
	ids := make(map[string]struct{}, len(g.retired))
	for id := range g.retired {
		ids[id] = struct{}{}
	}
	return ids
}

// Tasks returns the tasks that have not ended yet.
func (g *Group) Tasks() []*Task {
	g.mu.Lock()
	defer g.mu.Unlock()
	tasks := make([]*Task, 0, len(g.tasks))
	for _, t := range g.tasks {
		tasks = append(tasks, t)
	}
	slices.SortFunc(tasks, func(a, b *Task) int { return a.number - b.number })
	return tasks
}

// Adjust starts the tasks of the handlers that match and do not run yet, and asks those to
// end that do not match any more. It returns when to look again after those that take
// their time. A task that is still ending is started again when it has ended.
func (g *Group) Adjust(handlers []*handler.Handler) []time.Duration {
	for _, h := range handlers {
		g.start(h)
	}
	var mismatching, ending []*Task
	for _, t := range g.Tasks() {
		switch {
		case !slices.ContainsFunc(handlers, func(h *handler.Handler) bool { return h.ID == t.Handler.ID }):
			mismatching = append(mismatching, t)
		case t.stopped():
			// It matches again, but was told to end: what has begun is brought to an end.
			ending = append(ending, t)
		}
	}
	return append(g.stop(mismatching, FiltersMismatch), g.push(ending)...)
}

// start starts the task of a handler, unless it runs or has ended by itself.
func (g *Group) start(h *handler.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, retired := g.retired[h.ID]; retired || g.tasks[h.ID] != nil || !g.host.MayStart() {
		return
	}
	g.started++
	t := newTask(g, h, g.started)
	g.tasks[h.ID] = t
	go t.run()
}

// forget drops a task that has ended. One that has ended by itself is not started again.
func (g *Group) forget(t *Task) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t.stopper.why() == 0 {
		if g.retired == nil {
			g.retired = map[string]struct{}{}
		}
		g.retired[t.Handler.ID] = struct{}{}
	}
	if g.tasks[t.Handler.ID] == t {
		delete(g.tasks, t.Handler.ID)
	}
}
