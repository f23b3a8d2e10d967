package engine

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// ActivityError tells that handlers of the operator's own life have failed for good.
type ActivityError struct {
	Family handlers.Family
	Failed []FailedActivity // in the order of registration
}

// FailedActivity is one of the handlers of an [ActivityError].
type FailedActivity struct {
	ID  string
	Err error
}

// Error names the first of the handlers: the others are in the log.
func (e *ActivityError) Error() string {
	first := e.Failed[0]
	text := fmt.Sprintf("the %s handler %q has failed: %v", e.Family, first.ID, first.Err)
	if more := len(e.Failed) - 1; more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Unwrap returns the errors of the handlers.
func (e *ActivityError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f.Err
	}
	return errs
}

// activityNames are what the loggers of activities are called, as elsewhere.
var activityNames = map[handlers.Family]string{handlers.Login: "authentication"}

// activity is one handler of an activity with its progress, which nothing stores: it is
// gone with the operator.
type activity struct {
	*handlers.Handler

	retries int
	started time.Time
	due     time.Time
	out     handlers.Outcome
}

// perform calls the handlers of an activity one after another, and those that are to be
// tried again when they are due, until all have succeeded or failed for good. It returns
// what they have returned, by their ids.
func (o *operator) perform(ctx context.Context, family handlers.Family, handlers []*handlers.Handler) (map[string]any, error) {
	name := string(family)
	if known, ok := activityNames[family]; ok {
		name = known
	}
	logger := o.logger.With(observe.NameKey, "kopf.activities."+name)
	activities := make([]*activity, len(handlers))
	for i, h := range handlers {
		activities[i] = &activity{Handler: h, started: o.now(), due: o.now()}
	}
	for {
		var next time.Time // zero if there is none
		for _, a := range activities {
			if !a.out.Final && !a.due.After(o.now()) {
				o.try(ctx, a, logger)
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if !a.out.Final && (next.IsZero() || a.due.Before(next)) {
				next = a.due
			}
		}
		if next.IsZero() {
			return resultsOf(family, activities)
		}
		if err := sleep(ctx, next.Sub(o.now())); err != nil {
			return nil, err
		}
	}
}

// try attempts a handler once.
func (o *operator) try(ctx context.Context, a *activity, logger *slog.Logger) {
	began := o.now()
	limits := limitsOf(a.Handler, o.valid.Load().DefaultBackoff)
	logger.Debug(a.String() + " is invoked.")
	out, line, exceeded := handlers.Precheck(limits, a.retries, began.Sub(a.started), a.String())
	var err error
	if !exceeded {
		var result any
		result, err = invoke(ctx, &handlers.Call{
			Handler: a.Handler, Memo: o.config.Memo, Logger: logger.With(handlerKey, a.ID), Recorder: &Recorder{early: o.early, level: slog.LevelDebug, now: o.now},
			Retry: a.retries, Started: a.started, Runtime: began.Sub(a.started), Extra: o.config.Extra,
		}, limits)
		if ctx.Err() != nil {
			return // whatever it has come to, nobody waits for it any more
		}
		out, line = handlers.Decide(err, result, limits, a.retries, o.now().Sub(a.started), a.String())
	}
	logOutcome(ctx, logger, line, err)
	ended := o.now()
	o.count(a.Handler, func(m *meters) {
		if exceeded {
			m.givenUp(a.Handler)
		} else {
			m.attempted(a.Handler, ended.Sub(began), out, err)
		}
	})
	if a.Family == handlers.Login && !out.Final {
		o.reach.lose("cannot log in: " + err.Error())
	}
	o.reporter.ran(a.Handler, ended, ended.Sub(began), out.Final, out.Err)
	a.retries++
	a.out, a.due = out, ended
	if out.Delay != nil {
		a.due = ended.Add(*out.Delay)
	}
}

func resultsOf(family handlers.Family, activities []*activity) (map[string]any, error) {
	results := map[string]any{}
	var failed []FailedActivity
	for _, a := range activities {
		if a.out.Err != nil {
			failed = append(failed, FailedActivity{a.ID, a.out.Err})
		}
		if a.out.Result != nil {
			results[a.ID] = a.out.Result
		}
	}
	if len(failed) > 0 {
		return nil, &ActivityError{family, failed}
	}
	return results, nil
}

// startup calls the handlers of the start. What they have changed in the settings counts
// from then on.
func (o *operator) startup(ctx context.Context) error {
	hs := o.config.Registry.Activities(handlers.Startup)
	if len(hs) == 0 {
		return nil
	}
	if _, err := o.perform(ctx, handlers.Startup, hs); err != nil {
		if ctx.Err() != nil {
			o.logger.Warn("The startup handlers are only partially executed, as the operator stops.")
			return err
		}
		return fmt.Errorf("the operator does not start: %w", err)
	}
	valid := o.config.Settings()
	o.settings = valid
	o.valid.Store(&valid)
	for _, count := range o.uncounted {
		count(o.metersOf())
	}
	o.uncounted = nil
	return nil
}

// cleanup calls the handlers of the end. Their context does not end, however long it takes.
func (o *operator) cleanup() error {
	ctx := context.WithoutCancel(o.background)
	_, err := o.perform(ctx, handlers.Cleanup, o.config.Registry.Activities(handlers.Cleanup))
	return err
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
