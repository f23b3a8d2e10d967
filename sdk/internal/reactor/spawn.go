package reactor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/background"
	"github.com/kopf-dev/kopf/sdk/internal/delivery"
	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
	"github.com/kopf-dev/kopf/sdk/internal/watching"
)

// spawn starts the daemons and timers that the object should have, and ends those that it
// should not. It returns when to look again after those that take their time to end.
func (c *cycle) spawn() []time.Duration {
	if !c.handlers.Has(handler.Spawning) {
		return nil
	}
	group := c.memory.group.Load()
	switch {
	case c.event == watching.Deleted:
		c.endLater(group, background.ResourceDeleted)
		return nil
	case group == nil && c.object.Deleting:
		return nil // what does not run need not be ended
	case group == nil:
		group = background.NewGroup(c.background, &spawner{server: c.server, memory: c.memory}, c.settings.Background, c.logger, c.object)
		c.memory.group.Store(group)
	}
	group.Update(c.object, len(c.cause.Diff) > 0)
	if c.object.Deleting {
		return group.Stop(background.ResourceDeleted)
	}
	return group.Adjust(c.handlers.Selected(handler.Spawning, c.cause))
}

// retired are the daemons and timers of the object that are not to be started again.
func (m *memory) retired() map[string]struct{} {
	if group := m.group.Load(); group != nil {
		return group.Retired()
	}
	return nil
}

// endLater ends the tasks of an object that nobody handles any more.
func (o *operator) endLater(group *background.Group, reason background.Reason) {
	if group == nil || len(group.Tasks()) == 0 {
		return
	}
	o.stragglers.Go(func() { group.Wait(o.background, reason) })
}

// endAll ends the tasks of all objects, and waits for them as long as they may take.
func (o *operator) endAll(reason background.Reason, within time.Duration) {
	var wg sync.WaitGroup
	for _, m := range o.memories.all() {
		group := m.group.Load()
		if group == nil || len(group.Tasks()) == 0 {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(o.background, within+patienceOf(group))
			defer cancel()
			group.Wait(ctx, reason)
			for _, task := range group.Tasks() {
				o.logger.Warn(fmt.Sprintf("%s ignores that the operator stops: it is left alone.", task))
			}
		})
	}
	wg.Wait()
}

// patienceOf is how long the daemons of an object have asked for.
func patienceOf(group *background.Group) time.Duration {
	var longest time.Duration
	for _, task := range group.Tasks() {
		var asked time.Duration
		if d := task.Handler.CancellationBackoff; d != nil {
			asked += *d
		}
		if d := task.Handler.CancellationTimeout; d != nil {
			asked += *d
		}
		longest = max(longest, asked)
	}
	return longest
}

// spawner is the host of the daemons and timers of an object.
type spawner struct {
	*server
	memory *memory
}

// Attempt implements [background.Host].
func (s *spawner) Attempt(ctx context.Context, task *background.Task, retries int, started time.Time) outcome.Outcome {
	h := task.Handler
	c, err := s.cycleOf(task)
	if err != nil {
		return outcome.Outcome{Err: err, Delay: &s.settings.DefaultBackoff}
	}
	began := c.now()
	limits := c.limits(h)
	c.logger.Debug(h.String() + " is invoked.")
	if out, line, exceeded := outcome.Precheck(limits, retries, began.Sub(started), h.String()); exceeded {
		c.logOutcome(ctx, line, nil)
		return out
	}
	call := &handler.Call{
		Cause: c.cause, Handler: h, Patch: task.Patch, Memo: s.memory.memo,
		Logger: c.logger.With(handlerKey, h.ID), Recorder: c.recorder,
		Retry: retries, Started: started, Runtime: began.Sub(started),
		Extra: Task{Task: task, Apply: func(ctx context.Context) error { return s.send(ctx, task) }},
	}
	s.memory.report.Load().attempting(h, retries, started, began)
	result, err := c.invoke(ctx, call, limits)
	if reason := task.Reason(); reason != 0 && errors.Is(err, context.Canceled) {
		err = nil // it was asked to end, and has: that is no failure
	}
	took := c.now().Sub(began)
	out, line := outcome.Decide(err, result, limits, retries, c.now().Sub(started), h.String())
	c.logOutcome(ctx, line, err)
	s.memory.report.Load().attempted(h, began, took, out)
	return out
}

// Deliver implements [background.Host].
func (s *spawner) Deliver(ctx context.Context, task *background.Task, out outcome.Outcome) {
	logger := s.objectLogger(task.Live())
	if err := delivery.Results(map[string]outcome.Outcome{task.Handler.ID: out}, task.Patch); err != nil {
		logger.Error("A result cannot be stored.", "error", err)
	}
	if err := s.send(ctx, task); err != nil {
		logger.Error(fmt.Sprintf("What %s has changed cannot be sent: it is tried again with its next call.", task), "error", err)
	}
}

// send sends what is in the patch of a task. What could not be sent stays there.
func (s *spawner) send(ctx context.Context, task *background.Task) error {
	unsent := task.Patch.Take()
	if unsent.Empty() {
		return nil
	}
	ctx, cancel := outliving(ctx, patchTimeout)
	defer cancel()
	object := task.Live()
	result, err := s.patchObject(ctx, object, unsent, s.objectLogger(object))
	switch {
	case err != nil:
		task.Patch.Append(unsent)
	case result.Remaining != nil:
		task.Patch.Append(result.Remaining)
	}
	return err
}

// Ended implements [background.Host]: somebody may wait for the end, such as the deletion
// of the object.
func (s *spawner) Ended(task *background.Task) {
	s.queue.Again(s.resource.Key(), watching.Event{Type: watching.Modified, Object: task.Live()})
}

// cycleOf is what an attempt needs of a cycle. It is none of the object's worker.
func (s *spawner) cycleOf(task *background.Task) (*cycle, error) {
	object := task.Live()
	tree, err := object.Tree()
	if err != nil {
		return nil, fmt.Errorf("the object does not decode: %w", err)
	}
	c := &cycle{
		server: s.server, memory: s.memory, object: object, tree: tree, patch: task.Patch,
		inside: task.Handler.Family == handler.Daemon, // a daemon would keep its slot for ever
	}
	c.logger = s.objectLogger(object)
	if c.recorder = s.recorder(object); c.recorder != nil && s.settings.Posting.Loggers {
		c.logger = c.recorder.recording(c.logger)
	}
	c.cause = &handler.Cause{Resource: s.resource, Object: object, Tree: tree, Local: &Views{Memo: s.memory.memo}}
	return c, nil
}

// Task is what daemons and timers find in [handler.Call.Extra].
type Task struct {
	*background.Task
	Apply func(ctx context.Context) error // sends the patch while the handler goes on
}

var _ background.Host = (*spawner)(nil)
