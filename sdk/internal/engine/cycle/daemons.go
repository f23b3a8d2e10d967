package cycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// followDaemons starts the daemons and timers whose filters match the object, and stops the others. It returns the times
// until stopping tasks must be checked.
func (p *Processor) followDaemons(c *cycle) (stopping []time.Duration) {
	group := c.memory.Group.Load()
	switch {
	case group == nil && !c.served.Handlers.Has(handlers.Spawning), planning.On():
		return nil
	case c.deleted():
		c.memory.Flags.Forgotten.Store(true)
		p.detached.Stop(c.key(), c.memory, daemons.ResourceDeleted)
		return nil
	case group == nil && c.object.Deleting:
		return nil
	case group == nil && p.detached.Running(c.key()):
		return nil // the object is handled again when its previous daemons and timers have stopped
	case group == nil:
		group = daemons.NewGroup(p.background, p.newHost(c), p.deps.Settings.Background, c.object)
		c.memory.Group.Store(group)
	}
	var essence uint64 // zero unless a timer waits until the essence is idle
	if c.served.Handlers.Any(handlers.Spawning, func(h *handlers.Handler) bool { return h.Idle != nil }) {
		essence = memory.HashEssence(c.plan.Cause.New)
	}
	group.Update(c.object, essence)
	if c.object.Deleting {
		return group.Stop(daemons.ResourceDeleted)
	}
	matching := c.served.Handlers.Selected(handlers.Spawning, c.plan.Cause)
	group.Start(matching)
	return group.StopMismatched(matching)
}

// Task is the value of [handlers.Call.Extra] for daemons and timers.
type Task struct {
	*daemons.Task
	Apply func(ctx context.Context) error // sends the patch while the handler is running
}

// daemonHost runs the daemons and timers of one object. It implements [daemons.Host].
type daemonHost struct {
	processor *Processor
	deps      *core.Deps
	memory    *memory.Memory
	object    *object.Object                      // identity without contents
	last      atomic.Pointer[core.ServedResource] // last served definition of the resource
}

func (p *Processor) newHost(c *cycle) *daemonHost {
	host := &daemonHost{processor: p, deps: p.deps, memory: c.memory, object: &object.Object{
		APIVersion: c.object.APIVersion, Kind: c.object.Kind, Namespace: c.object.Namespace, Name: c.object.Name, UID: c.object.UID,
	}}
	host.last.Store(c.served)
	return host
}

// Served returns the current definition of the resource, which can change while daemons run. If the resource is not
// served, it returns the last served definition.
func (d *daemonHost) Served() *core.ServedResource {
	if now := d.processor.resources.Served(d.last.Load().Resource.Key()); now != nil {
		d.last.Store(now)
	}
	return d.last.Load()
}

func (d *daemonHost) MayStart() bool {
	return fence.MayBegin(d.Enter(context.Background())) == nil &&
		d.memory.Flags.HasFinalizer.Load() && !d.memory.Flags.Forgotten.Load() && !d.memory.Flags.Paused.Load()
}

func (d *daemonHost) Logger() *slog.Logger {
	return d.subject(d.memory.Group.Load().Live()).Logger
}

func (d *daemonHost) subject(version *object.Object) *observe.Subject {
	return d.deps.Subject(d.memory.Identity, d.Served().Resource, version)
}

func (d *daemonHost) Enter(ctx context.Context) context.Context {
	return d.deps.EnterTerm(ctx, d.Served(), d.object)
}

func (d *daemonHost) Attempt(ctx context.Context, task *daemons.Task, retries int, started time.Time) (out handlers.Outcome, counts bool) {
	return d.processor.invoker.Try(ctx, d.newAttempt(ctx, task, retries, started))
}

// newAttempt prepares an attempt. The handler gets a version of the object that is only decoded on demand.
func (d *daemonHost) newAttempt(term context.Context, task *daemons.Task, retries int, started time.Time) *call.Attempt {
	version := task.Live()
	subject := d.subject(version)
	a := &call.Attempt{
		Subject: subject,
		Call: &handlers.Call{
			Cause:   &handlers.Cause{Resource: subject.Resource, Object: version.Detached(), Views: &handlers.Views{Memo: d.memory.Memo}},
			Handler: task.Handler, Patch: task.Patch, Memo: d.memory.Memo,
			Logger: subject.Logger.With(observe.HandlerKey, task.Handler.ID), Recorder: subject.Recorder,
			SetCondition: func(given handlers.Condition) error { return d.setCondition(task, given) },
			Extra: Task{Task: task, Apply: func(ctx context.Context) error {
				ctx, cancel := core.WithGrace(fence.Carry(ctx, term), patchTimeout)
				defer cancel()
				return d.send(ctx, task)
			}},
		},
		Retries: retries, Started: started, Backoff: d.deps.Settings.DefaultBackoff, Task: task,
	}
	subject.Object = nil // a daemon can run for days, and must not keep this version
	if task.Handler.Family == handlers.Timer {
		a.Slot = new(call.Slot) // a daemon would occupy its slot for as long as it runs
	}
	return a
}

// setCondition sets a condition of the object, which the next cycle writes.
func (d *daemonHost) setCondition(task *daemons.Task, given handlers.Condition) error {
	version, served := task.Live(), d.Served()
	key := queue.KeyOf(served.Resource.Key(), version)
	if d.processor.memories.Find(key) == nil {
		return nil // the object was deleted
	}
	if err := d.processor.conditions.Of(key, served).Set(given, version.Generation); err != nil {
		return err
	}
	d.deps.Queue.Again(queue.Due, key.Resource, watch.Event{Type: watch.Modified, Object: version})
	return nil
}

// Deliver implements [daemons.Host]. If the handler will not be called again, Deliver retries until the patch is sent or
// the task must stop.
func (d *daemonHost) Deliver(ctx context.Context, task *daemons.Task, out handlers.Outcome) {
	logger := d.Logger()
	if err := state.DeliverResults(map[string]handlers.Outcome{task.Handler.ID: out}, task.Patch); err != nil {
		logger.Error("Cannot store the result in the status; discarding it", observe.EventKey, observe.LogResultRejected, "error", err)
	}
	// The patch is sent even if the handler's context has ended.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(d.deps.Background, cancel)()
	last := out.Final && (task.Handler.Interval == nil || out.Err != nil)
	for failures := (queue.Throttler{}); ; {
		err := d.send(ctx, task)
		what := fmt.Sprintf("Cannot send the patch of %s", task)
		switch {
		case err == nil:
			return
		case core.IsFenced(err) && !last:
			return // the patch is sent after the next call of the handler
		case outbox.DropsAll(err), last && task.Reason() != 0:
			logger.With(observe.ErrorAttrs(err)...).Error(what+"; discarding it", observe.EventKey, observe.LogPatchFailed)
			return
		case !last:
			logger.Error(what+"; retrying with its next call", observe.EventKey, observe.LogPatchFailed, "error", err)
			return
		}
		delay := max(time.Second, failures.Failed(d.deps.Now(), d.deps.Settings.ErrorDelays))
		logger.Error(fmt.Sprintf("%s; retrying in %s", what, delay), observe.EventKey, observe.LogPatchFailed, "error", err)
		task.Sleep(delay)
	}
}

var errContended = errors.New("transform the object: it changes too often")

// send sends the patch of a task. It restores unsent changes to the patch, unless they are refused permanently.
func (d *daemonHost) send(ctx context.Context, task *daemons.Task) error {
	res, logger, version, unsent := d.Served().Resource, d.Logger(), task.Live(), task.Patch.Take()
	defer func() {
		if unsent != nil && !unsent.Empty() {
			task.Patch.Restore(unsent)
		}
	}()
	for range outbox.MaxConflicts {
		if unsent.Empty() {
			return nil
		}
		sent := unsent
		result, err := outbox.SendPatch(ctx, d.deps, res, version, sent, d.mayBeReplaced(task), logger, nil)
		patched, _ := result.Object.(*object.Object)
		if patched != nil {
			task.Wrote(patched)
		}
		if unsent = result.Remaining; outbox.DropsAll(err) {
			unsent = nil
		}
		if err != nil {
			return err
		}
		if patched != nil {
			d.memory.WarnPruned(logger, res, sent, patched)
		}
		if unsent == nil {
			return nil
		}
		// The object changed during the request. No cycle will repeat the task's transformations on the
		// newest version, so the loop repeats them.
		newest, err := d.deps.NewestVersion(ctx, res, version.Namespace, version.Name, version.UID)
		if err != nil {
			return err
		}
		if version = newest; version == nil {
			unsent = nil
			return nil
		}
	}
	return errContended
}

// mayBeReplaced reports whether another object may have the name by now: no finalizer holds the object of the task, or
// the operator does not receive its events.
func (d *daemonHost) mayBeReplaced(task *daemons.Task) bool {
	return d.memory.Flags.Forgotten.Load() || !d.memory.Flags.HasFinalizer.Load() || task.Reason()&^daemons.ResourceDeleted != 0
}

// Ended implements [daemons.Host]. It requeues the object, because its deletion or the next start may wait for the end
// of the task.
func (d *daemonHost) Ended(task *daemons.Task) {
	if !task.Reason().Has(daemons.ResourceDeleted) {
		observe.Emit(d.deps.Sink, observe.BackgroundStopped{
			Identity: d.memory.Identity, Handlers: []*handlers.Handler{task.Handler}, Ended: true, Background: (*background)(d.memory.Group.Load()),
		})
	}
	version, resource := task.Live(), d.last.Load().Resource.Key()
	if d.processor.memories.Find(queue.KeyOf(resource, version)) == nil {
		return // the object was deleted, and must not be remembered again
	}
	d.deps.Queue.Again(queue.Live, resource, watch.Event{Type: watch.Modified, Object: version})
}

func (d *daemonHost) NewTurn(h *handlers.Handler, wake func()) daemons.Turn {
	return d.deps.Limits.NewTurn(h, wake)
}

func (d *daemonHost) AwaitsSlot(task *daemons.Task) {
	d.deps.Limits.Await(task.Handler, d.subject(task.Live()))
}

// background is the view of an object's daemons and timers for subscribers. It implements [observe.Background].
type background daemons.Group

func (b *background) Task(handlerID string) (observe.Task, bool) {
	tasks := (*daemons.Group)(b).Tasks()
	i := slices.IndexFunc(tasks, func(t *daemons.Task) bool { return t.Handler.ID == handlerID })
	if i < 0 {
		return observe.Task{}, false
	}
	due, waiting := tasks[i].Due()
	return observe.Task{Stopping: tasks[i].Reason() != 0, Due: due, Waiting: waiting}, true
}

func (b *background) Retired(handlerID string) bool {
	_, retired := (*daemons.Group)(b).Retired()[handlerID]
	return retired
}
