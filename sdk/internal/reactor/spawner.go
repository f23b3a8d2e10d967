package reactor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/background"
	"github.com/kopf-dev/kopf/sdk/internal/delivery"
	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
	"github.com/kopf-dev/kopf/sdk/internal/queueing"
	"github.com/kopf-dev/kopf/sdk/internal/throttle"
	"github.com/kopf-dev/kopf/sdk/internal/watching"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// Task is what daemons and timers find in [handler.Call.Extra].
type Task struct {
	*background.Task
	Apply func(ctx context.Context) error // sends the patch while the handler goes on
}

// spawner is the host of the daemons and timers of an object.
type spawner struct {
	*server
	memory *memory
}

var _ background.Host = (*spawner)(nil)

// MayStart implements [background.Host].
func (s *spawner) MayStart() bool {
	return !s.paused.Load() && !s.ending.Load() && s.memory.held.Load() && !s.memory.left.Load()
}

// Attempt implements [background.Host].
func (s *spawner) Attempt(ctx context.Context, task *background.Task, retries int, started time.Time) outcome.Outcome {
	h, report := task.Handler, s.memory.report.Load()
	c := s.cycleOf(task)
	began := c.now()
	limits := c.limits(h)
	c.logger.Debug(h.String() + " is invoked.")
	if out, line, exceeded := outcome.Precheck(limits, retries, began.Sub(started), h.String()); exceeded {
		c.logOutcome(ctx, line, nil)
		report.attempted(h, began, 0, out)
		return out
	}
	report.attempting(h, retries, started, began)
	result, err := c.invoke(ctx, s.call(c, task, retries, started, began), limits)
	ended := c.now()
	if task.Reason() != 0 && interrupted(err) {
		// It was asked to end, and has: that is no failure.
		c.logger.Debug(h.String() + " is cancelled.")
		out := outcome.Outcome{Final: true}
		c.meters.attempted(h, ended.Sub(began), out, nil)
		report.attempted(h, began, ended.Sub(began), out)
		return out
	}
	out, line := outcome.Decide(err, result, limits, retries, ended.Sub(started), h.String())
	c.logOutcome(ctx, line, err)
	c.meters.attempted(h, ended.Sub(began), out, err)
	report.attempted(h, began, ended.Sub(began), out)
	return out
}

// interrupted tells whether an error is about the end of the handler's context.
func interrupted(err error) bool {
	var reason background.Reason
	return errors.Is(err, context.Canceled) || errors.As(err, &reason)
}

// call is what the handler gets. It is made of a version with a tree of its own, and the
// cycle has nothing of it: daemons run for days, and there may be thousands.
func (s *spawner) call(c *cycle, task *background.Task, retries int, started, began time.Time) *handler.Call {
	object := task.Live().Detached()
	cause := &handler.Cause{Resource: s.resource, Object: object, Local: &Views{Memo: s.memory.memo}}
	if task.Handler.Family == handler.Timer { // daemons look at the object as it is when they do
		var err error
		if cause.Tree, err = object.Tree(); err != nil {
			c.logger.Error("The object does not decode.", "error", err) // it did before
		}
	}
	return &handler.Call{
		Cause: cause, Handler: task.Handler, Patch: task.Patch, Memo: s.memory.memo,
		Logger: c.logger.With(handlerKey, task.Handler.ID), Recorder: c.recorder,
		Retry: retries, Started: started, Runtime: began.Sub(started),
		Extra: Task{Task: task, Apply: func(ctx context.Context) error {
			ctx, cancel := outliving(ctx, patchTimeout)
			defer cancel()
			return s.send(ctx, task)
		}},
	}
}

// cycleOf is what an attempt needs of a cycle. It is none of the object's worker.
func (s *spawner) cycleOf(task *background.Task) *cycle {
	object := task.Live()
	c := &cycle{
		server: s.server, memory: s.memory, patch: task.Patch,
		inside: task.Handler.Family == handler.Daemon, // a daemon would keep its slot for ever
	}
	c.logger = s.objectLogger(object)
	if c.recorder = s.recorder(object); c.recorder != nil && s.settings.Posting.Loggers {
		c.logger = c.recorder.recording(c.logger)
	}
	return c
}

// Deliver implements [background.Host].
func (s *spawner) Deliver(ctx context.Context, task *background.Task, out outcome.Outcome) {
	logger := s.objectLogger(task.Live())
	if err := delivery.Results(map[string]outcome.Outcome{task.Handler.ID: out}, task.Patch); err != nil {
		logger.Error("A result cannot be stored.", "error", err)
	}
	// The handler's context may have ended: what it has done is to be known nevertheless.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(s.background, cancel)()
	last := out.Final && (task.Handler.Family == handler.Daemon || out.Err != nil)
	for failures := (throttle.Throttler{}); ; {
		err := s.send(ctx, task)
		what := fmt.Sprintf("What %s has changed cannot be sent", task)
		switch {
		case err == nil:
			return
		case hopeless(err):
			logger.With(reasons(err)...).Error(what + ".")
			return
		case !last:
			logger.Error(what+": it is tried again with its next call.", "error", err)
			return
		case task.Reason() != 0:
			logger.Error(what+": it is lost.", "error", err)
			return
		}
		delay := max(time.Second, failures.Failed(s.now(), s.settings.ErrorDelays))
		logger.Error(fmt.Sprintf("%s: it is tried again in %s.", what, delay), "error", err)
		task.Sleep(delay)
	}
}

// send sends what is in the patch of a task. What could not be sent stays there.
func (s *spawner) send(ctx context.Context, task *background.Task) error {
	unsent := task.Patch.Take()
	if unsent.Empty() {
		return nil
	}
	object := task.Live()
	logger := s.objectLogger(object)
	result, err := s.patchObject(ctx, object, unsent, logger)
	made, _ := result.Object.(*wire.Object)
	if made != nil {
		task.Wrote(made)
	}
	switch {
	case hopeless(err): // all but the transformations has been sent
	case err != nil:
		task.Patch.Restore(unsent)
	case result.Remaining != nil:
		task.Patch.Restore(result.Remaining)
	case made != nil:
		return s.checkPruned(s.memory, logger, unsent, made)
	}
	return err
}

// Ended implements [background.Host]: somebody may wait for the end, such as the deletion
// of the object, or another start.
func (s *spawner) Ended(task *background.Task) {
	s.memory.report.Load().ended(s.memory.group.Load(), task)
	object := task.Live()
	if s.memories.find(queueing.KeyOf(s.resource.Key(), object)) == nil {
		return // it is gone: nobody waits, and it must not be remembered anew
	}
	s.queue.Again(s.resource.Key(), watching.Event{Type: watching.Modified, Object: object})
}

// key identifies the object of the cycle.
func (c *cycle) key() queueing.Key { return queueing.KeyOf(c.resource.Key(), c.object) }
