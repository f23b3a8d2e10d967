package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// activityError has the errors of the handlers that failed permanently. Its text has only the first one; the log has all.
type activityError struct {
	text string
	errs []error
}

func (e *activityError) Error() string   { return e.text }
func (e *activityError) Unwrap() []error { return e.errs }

// activity is a handler with its progress, which is not persisted.
type activity struct {
	handler *handlers.Handler
	retries int
	started time.Time
	due     time.Time
	out     handlers.Outcome
}

// runActivity calls the operator's own handlers for an activity, such as the startup or a probe, until all have succeeded or failed
// permanently. It returns their results by their ids, or an [activityError].
func (o *operator) runActivity(ctx context.Context, family handlers.Family, hs []*handlers.Handler) (map[string]any, error) {
	name := "kopf.activities." + string(family)
	if family == handlers.Login {
		name = "kopf.activities.authentication" // Python operators use this name
	}
	logger, now := o.deps.Logger.With(observe.NameKey, name), o.deps.Now
	invoker := call.NewInvoker(now, o.deps.Sink, 0)
	all := make([]*activity, len(hs))
	for i, h := range hs {
		all[i] = &activity{handler: h, started: now(), due: now()}
	}
	for {
		var next time.Time // zero if all handlers are done
		for _, one := range all {
			if !one.out.Final && !one.due.After(now()) {
				o.attempt(ctx, invoker, one, logger)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !one.out.Final && (next.IsZero() || one.due.Before(next)) {
				next = one.due
			}
		}
		if next.IsZero() {
			return resultsOf(family, all)
		}
		if err := core.Sleep(ctx, next.Sub(now())); err != nil {
			return nil, err
		}
	}
}

func (o *operator) attempt(ctx context.Context, i *call.Invoker, one *activity, logger *slog.Logger) {
	attempt := &call.Attempt{
		Call: &handlers.Call{
			Handler: one.handler, Memo: o.config.Memo, Extra: o.config.Extra, Logger: logger.With(observe.HandlerKey, one.handler.ID),
			Recorder: o.deps.Recorders.For(),
		},
		Subject: &observe.Subject{Logger: logger},
		Retries: one.retries, Started: one.started, Backoff: o.settings.Load().DefaultBackoff,
	}
	if one.handler.Family == handlers.Cleanup {
		attempt.Grace = max(o.settings.Load().ExitTimeout, time.Millisecond) // cleanup must not delay the exit
	}
	out, ok := i.Try(ctx, attempt)
	if !ok {
		return // the operator is stopping, so the outcome does not matter
	}
	if one.handler.Family == handlers.Login && !out.Final {
		observe.Emit(o.deps.Sink, observe.ClusterLost{Reason: "cannot log in: " + out.Err.Error()})
	}
	one.retries++
	one.out, one.due = out, attempt.Ended.Add(*cmp.Or(out.Delay, new(time.Duration)))
}

func resultsOf(family handlers.Family, all []*activity) (map[string]any, error) {
	results, failed := map[string]any{}, &activityError{}
	for _, a := range all {
		if err := a.out.Err; err != nil {
			failed.text = cmp.Or(failed.text, fmt.Sprintf("the %s handler %q has failed: %v", family, a.handler.ID, err))
			failed.errs = append(failed.errs, err)
		}
		if a.out.Result != nil {
			results[a.handler.ID] = a.out.Result
		}
	}
	if n := len(failed.errs); n > 1 {
		failed.text += fmt.Sprintf(" (and %d more)", n-1)
	}
	if failed.errs != nil {
		return nil, failed
	}
	return results, nil
}

// startup calls the startup handlers, and applies their changes of the settings.
func (o *operator) startup(ctx context.Context) error {
	hs := o.config.Registry.Activities(handlers.Startup)
	if len(hs) == 0 {
		o.startMetrics()
		return reviews.CheckWayIn(o.config.Registry, o.deps.Settings)
	}
	if _, err := o.runActivity(ctx, handlers.Startup, hs); err != nil {
		if ctx.Err() != nil {
			o.deps.Logger.Warn("The startup handlers are only partially executed, as the operator stops.",
				observe.EventKey, observe.LogStartupInterrupted)
			return err
		}
		return fmt.Errorf("the operator does not start: %w", err)
	}
	settings := o.config.Settings()
	if err := errors.Join(settings.Check(o.config.Registry), reviews.CheckWayIn(o.config.Registry, &settings)); err != nil {
		return fmt.Errorf("the operator does not start: after the startup handlers: %w", err)
	}
	o.deps.Settings = &settings
	o.settings.Store(&settings)
	if o.showRecords != nil {
		o.showRecords()
	}
	o.startMetrics()
	return nil
}

// cleanup calls the cleanup handlers. Their context ends at the forced exit timeout.
func (o *operator) cleanup() error {
	ctx, limit := context.WithoutCancel(o.deps.Background), o.deps.Settings.ExitingTimeout
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, cmp.Or(o.stopped.Load(), new(o.deps.Now())).Add(limit))
		defer cancel()
	}
	_, err := o.runActivity(ctx, handlers.Cleanup, o.config.Registry.Activities(handlers.Cleanup))
	if err != nil && ctx.Err() != nil {
		o.deps.Logger.Error("The cleanup handlers are only partially executed, as they take longer than Settings.Process.ForcedExitTimeout",
			observe.EventKey, observe.LogShutdownAbandoned, "timeout", limit.String())
		return fmt.Errorf("the cleanup handlers did not end within Settings.Process.ForcedExitTimeout (%s): %w", limit, err)
	}
	return err
}
