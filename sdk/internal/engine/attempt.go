package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Task is what daemons and timers find in [handlers.Call.Extra].
type Task struct {
	*daemons.Task
	Apply func(ctx context.Context) error // sends the patch while the handler goes on
}

// attempt is one call of the handler of a daemon or a timer. A daemon can go on for days,
// and there may be thousands: what is not needed meanwhile is dropped.
type attempt struct {
	*server
	spawner *spawner
	task    *daemons.Task

	retries        int
	started, began time.Time
	limits         handlers.Limits
	call           *handlers.Call // dropped when it is made
}

// begin prepares the call, unless the limits of the handler forbid it: then it is refused.
// For a daemon, that happens aside, so that nothing of it is left on its stack.
func (a *attempt) begin(ctx context.Context) (refusal *handlers.Outcome, err error) {
	if a.task.Handler.Family != handlers.Daemon {
		return a.prepare(ctx), nil
	}
	err = daemons.Aside(func() error {
		refusal = a.prepare(ctx)
		return nil
	})
	return refusal, err
}

func (a *attempt) prepare(ctx context.Context) (refusal *handlers.Outcome) {
	h := a.task.Handler
	a.began = a.now()
	a.limits = limitsOf(h, a.settings.DefaultBackoff)
	c := a.cycle()
	c.logger.Debug(h.String() + " is invoked.")
	if out, line, exceeded := handlers.Precheck(a.limits, a.retries, a.began.Sub(a.started), h.String()); exceeded {
		c.logOutcome(ctx, line, nil)
		c.meters.givenUp(h)
		a.report().attempted(h, a.began, 0, out)
		return &out
	}
	a.report().attempting(h, a.retries, a.started, a.began)
	a.call = a.callOf(c)
	return nil
}

// callOf is what the handler gets. It is made of a version with a tree of its own, which is
// decoded when somebody looks at it.
func (a *attempt) callOf(c *cycle) *handlers.Call {
	task, spawner := a.task, a.spawner
	return &handlers.Call{
		Cause:   &handlers.Cause{Resource: a.resource, Object: task.Live().Detached(), Local: &Views{Memo: spawner.memory.memo}},
		Handler: task.Handler, Patch: task.Patch, Memo: spawner.memory.memo,
		Logger: c.logger.With(handlerKey, task.Handler.ID), Recorder: c.recorder,
		Retry: a.retries, Started: a.started, Runtime: a.began.Sub(a.started),
		Extra: Task{Task: task, Apply: func(ctx context.Context) error {
			ctx, cancel := outliving(ctx, patchTimeout)
			defer cancel()
			return spawner.send(ctx, task)
		}},
	}
}

// invoke calls the handler.
func (a *attempt) invoke(ctx context.Context) (any, error) {
	call := a.call
	a.call = nil
	if call.Handler.Family == handlers.Daemon {
		return invoke(ctx, call, a.limits) // with no slot: it would keep it for ever
	}
	return a.cycle().invoke(ctx, call, a.limits)
}

// end tells what the attempt came to.
func (a *attempt) end(ctx context.Context, result any, err error) handlers.Outcome {
	h, c, ended := a.task.Handler, a.cycle(), a.now()
	var out handlers.Outcome
	if a.task.Reason() != 0 && interrupted(err) {
		// It was asked to end, and has: that is no failure.
		c.logger.Debug(h.String() + " is cancelled.")
		out, err = handlers.Outcome{Final: true}, nil
	} else {
		var line handlers.LogLine
		out, line = handlers.Decide(err, result, a.limits, a.retries, ended.Sub(a.started), h.String())
		c.logOutcome(ctx, line, err)
	}
	c.meters.attempted(h, ended.Sub(a.began), out, err)
	a.report().attempted(h, a.began, ended.Sub(a.began), out)
	return out
}

// interrupted tells whether an error is about the end of the handler's context.
func interrupted(err error) bool {
	var reason daemons.Reason
	return errors.Is(err, context.Canceled) || errors.As(err, &reason)
}

// cycle is what an attempt has in common with those of the object's worker.
func (a *attempt) cycle() *cycle {
	c := &cycle{server: a.server, memory: a.spawner.memory}
	c.logger, c.recorder = a.tellers(a.task.Live())
	return c
}

// tellers are the logger of an object, which posts events as well if it is set to, and the
// recorder of its events.
func (s *server) tellers(object *object.Object) (*slog.Logger, *Recorder) {
	logger, recorder := s.objectLogger(object), s.recorder(object)
	if recorder != nil && s.settings.Posting.Loggers {
		logger = recorder.recording(logger)
	}
	return logger, recorder
}

func (a *attempt) report() *report { return a.spawner.memory.report.Load() }
