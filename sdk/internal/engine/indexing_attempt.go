package engine

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// slowIndexing is how long an indexing function may keep its stream waiting unnoticed.
const slowIndexing = time.Second

// attemptResult is what one call of an indexing function came to, and when.
type attemptResult struct {
	handlers.Outcome
	began, ended time.Time

	retries int       // attempts before
	started time.Time // the first of them
}

// attempt calls an indexing function, unless its limits forbid it. It returns false if
// what came of it does not count, since the stream has ended meanwhile.
func (x *indexer) attempt(h *handlers.Handler, cause *handlers.Cause, memo any, f *failed) (attemptResult, bool) {
	began := x.now()
	logger := x.objectLogger(cause.Object)
	limits := limitsOf(h, x.settings.DefaultBackoff)
	retries, started := 0, began
	if f != nil {
		if failure, failed := f.failures[h.ID]; failed {
			retries, started = failure.Retries, failure.Started
		}
	}
	logger.Debug(h.String() + " is invoked.")
	if out, line, exceeded := handlers.Precheck(limits, retries, began.Sub(started), h.String()); exceeded {
		x.meters.givenUp(h)
		x.reporter.ran(h, began, 0, out.Final, out.Err)
		logger.Log(x.ctx, line.Level, line.Message)
		return attemptResult{out, began, began, retries, started}, true
	}
	slow := time.AfterFunc(slowIndexing, func() {
		logger.Warn(fmt.Sprintf("%s takes its time: meanwhile, nothing is noticed of any %s.", h, x.resource.Plural))
	})
	defer slow.Stop()
	call := &handlers.Call{
		Cause: cause, Handler: h, Patch: patch.NewPatch(), Memo: memo, Logger: logger.With(handlerKey, h.ID),
		Recorder: x.recorder(cause.Object), Retry: retries, Started: started, Runtime: began.Sub(started),
	}
	result, err := invoke(x.ctx, call, limits)
	if x.ctx.Err() != nil {
		return attemptResult{}, false
	}
	if !call.Patch.Empty() {
		logger.Warn(fmt.Sprintf("%s has changed the patch: what indexing functions put there is not sent.", h))
	}
	ended := x.now()
	out, line := handlers.Decide(err, result, limits, retries, ended.Sub(started), h.String())
	x.reporter.ran(h, ended, ended.Sub(began), out.Final, out.Err)
	x.meters.attempted(h, ended.Sub(began), out, err)
	if err == nil {
		line.Level = slog.LevelDebug // one for each version of each object
	}
	logOutcome(x.ctx, logger, line, err)
	return attemptResult{out, began, ended, retries, started}, true
}
