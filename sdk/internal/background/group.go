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
}

// Group are the tasks of one object. Its methods may be called by one goroutine at a time,
// which is the object's worker, except for those that say otherwise.
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
	newer   chan struct{} // closed when there is a newer version
	changed time.Time     // when the essence of the object has changed last
}

// NewGroup makes the group of an object. The context gives the tasks its values; its end
// does not end them.
func NewGroup(ctx context.Context, host Host, settings Settings, logger *slog.Logger, object *wire.Object) *Group {
	return &Group{
		host: host, settings: settings, logger: logger, ctx: context.WithoutCancel(ctx),
		tasks: map[string]*Task{}, live: object, newer: make(chan struct{}), changed: time.Now(),
	}
}

// Update shows the tasks a newer version of the object. If its essence has changed, idle
// timers begin to wait anew.
func (g *Group) Update(object *wire.Object, changed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if changed {
		g.changed = time.Now()
	}
	if object == g.live {
		return
	}
	g.live = object
	close(g.newer)
	g.newer = make(chan struct{})
}

// Live returns the newest version of the object. It is safe for concurrent use.
func (g *Group) Live() *wire.Object {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.live
}

// Newer returns a channel that closes when there is a newer version than now. It is safe
// for concurrent use.
func (g *Group) Newer() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.newer
}

func (g *Group) idleSince() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
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

// Tasks returns the tasks that have not ended yet. It is safe for concurrent use.
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
	var mismatching []*Task
	for _, t := range g.Tasks() {
		if !slices.ContainsFunc(handlers, func(h *handler.Handler) bool { return h.ID == t.Handler.ID }) {
			mismatching = append(mismatching, t)
		}
	}
	return g.stop(mismatching, FiltersMismatch)
}

// Stop asks all tasks to end. It returns when to look again after those that take their
// time; none if all have ended or were abandoned. An abandoned task is not started again
// before it has ended after all: there is never more than one of a handler.
func (g *Group) Stop(reason Reason) []time.Duration { return g.stop(g.Tasks(), reason) }

// Wait stops all tasks and waits until they have ended, as far as the patience of each
// allows: those with no limit are waited for until the context ends.
func (g *Group) Wait(ctx context.Context, reason Reason) {
	for {
		delays := g.Stop(reason)
		if len(delays) == 0 {
			return
		}
		timer := time.NewTimer(slices.Min(delays))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for _, t := range g.Tasks() {
				select {
				case <-t.done:
				case <-timer.C:
					return
				case <-ctx.Done():
					return
				}
			}
		}()
		<-ended
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// stop takes each task one step further on its way out: it is asked, then its context is
// cancelled, then it is abandoned.
func (g *Group) stop(tasks []*Task, reason Reason) []time.Duration {
	now := time.Now()
	fresh := false
	for _, t := range tasks {
		fresh = t.stopper.set(reason, now) || fresh
		if t.patience.backoff <= 0 {
			t.cancelOnce()
		}
	}
	if fresh {
		g.instantExit(tasks)
	}
	var delays []time.Duration
	for _, t := range tasks {
		if delay, wait := g.push(t); wait {
			delays = append(delays, delay)
		}
	}
	return delays
}

// push takes a task as far as its time allows, and returns when to look again.
func (g *Group) push(t *Task) (time.Duration, bool) {
	age := t.stopper.age(time.Now())
	switch p := t.patience; {
	case t.ended():
		return 0, false
	case age < p.backoff:
		if t.stopper.reach(signalled) {
			t.logger.Debug(t.String() + " is signalled to exit gracefully.")
		}
		return p.backoff - age, true
	case p.limited && age < p.backoff+p.timeout:
		t.cancelOnce()
		g.instantExit([]*Task{t})
		return p.backoff + p.timeout - age, !t.ended()
	case p.limited:
		if t.stopper.reach(abandoned) {
			t.logger.Warn(t.String() + " did not exit in time. Leaving it orphaned.")
		}
		return 0, false
	default:
		t.cancelOnce()
		g.instantExit([]*Task{t})
		if t.ended() {
			return 0, false
		}
		t.logger.Debug(t.String()+" is still exiting.", "the next check is in", p.polling.String())
		return p.polling, true
	}
}

// instantExit gives tasks that end at once the time to do so, so that nothing has to be
// scheduled for them.
func (g *Group) instantExit(tasks []*Task) {
	if g.settings.InstantExit <= 0 {
		return
	}
	timer := time.NewTimer(g.settings.InstantExit)
	defer timer.Stop()
	for _, t := range tasks {
		select {
		case <-t.done:
		case <-timer.C:
			return
		}
	}
}

// start starts the task of a handler, unless it runs or has ended by itself.
func (g *Group) start(h *handler.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, retired := g.retired[h.ID]; retired || g.tasks[h.ID] != nil {
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
