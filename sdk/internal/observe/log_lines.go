package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// LogLines is a subscriber that writes a log line about most events. Messages that Python operators also log have the same
// text.
type LogLines struct {
	ctx     context.Context // context with values for the slog handlers
	logger  *slog.Logger
	streams *slog.Logger
	clients *slog.Logger // nil if requests are not logged

	mu      sync.Mutex
	orphans map[string]bool // logged orphans and unknown steps
}

// NewLogLines returns a subscriber that logs to the logger of the event's subject; for events without a subject, to logger.
// It passes ctx to the slog handlers. It logs requests to the cluster only if requests is true.
func NewLogLines(ctx context.Context, logger *slog.Logger, requests bool) *LogLines {
	l := &LogLines{
		ctx: ctx, logger: logger, streams: logger.With(NameKey, "kopf.watching"), orphans: map[string]bool{},
	}
	if requests {
		l.clients = logger.With(NameKey, "kopf.clients")
	}
	return l
}

// Kinds implements [Subscriber].
func (l *LogLines) Kinds() []Kind {
	kinds := []Kind{
		KindPlanned, KindMarkBroken, KindAttemptStarted, KindStepChanged, KindAttemptEnded, KindRecorded, KindSent, KindEnded,
		KindStreamChanged, KindReviewEnded, KindAlarmChanged,
	}
	if l.clients != nil {
		kinds = append(kinds, KindRequestEnded)
	}
	return kinds
}

// Receive implements [Subscriber].
func (l *LogLines) Receive(event Event) {
	switch e := event.(type) {
	case MarkBroken:
		e.Subject.Logger.Warn(fmt.Sprintf("Cannot read %s in %s; continuing without it. Its content moves to the annotation %s",
			e.Mark.What, e.Mark.Where(), e.Mark.Aside()), EventKey, LogMarkBroken, "error", e.Mark.Err)
	case Planned:
		l.planned(e)
	case AttemptStarted:
		if logger := e.Subject.Logger; l.debugging(logger) {
			logger.Debug(e.Handler.String()+" is invoked.", EventKey, LogHandlerInvoked)
		}
	case StepChanged:
		l.stepChanged(e)
	case AttemptEnded:
		l.attemptEnded(e)
	case Recorded:
		if e.Parent == "" && e.Progress.Done() {
			counts := e.Progress.Counts()
			e.Subject.Logger.Info(fmt.Sprintf("%s is processed: %d succeeded; %d failed.",
				capitalized(e.Cause.Reason.Title()), counts.Success, counts.Failure), EventKey, LogCauseProcessed)
		}
	case Sent:
		switch {
		case e.Err == nil:
			e.Subject.Logger.Info("API server has accepted the delayed changes"+byHandlers(e.Handlers),
				EventKey, LogPatchWritten, "after", e.At.Sub(e.Since).String())
		case !e.Again:
			e.Subject.Logger.Warn("API server has not accepted the changes"+byHandlers(e.Handlers)+
				"; keeping them in memory until it does. Handlers may be called again after a restart", EventKey, LogPatchHeld, "error", e.Err)
		}
	case Ended:
		l.ended(e)
	case ReviewEnded:
		l.reviewEnded(e)
	case StreamChanged:
		l.streamChanged(e)
	case RequestEnded:
		l.requestEnded(e)
	case AlarmChanged:
		alarmChanged(e)
	}
}

// reviewEnded logs the response to a review. The handlers that were called have lines of their own.
func (l *LogLines) reviewEnded(e ReviewEnded) {
	logger := e.Subject.Logger
	if !l.debugging(logger) {
		return
	}
	response := "admitted"
	if !e.Response.Allowed {
		response = "denied"
	}
	what := e.Request.Operation
	if e.Request.Subresource != "" {
		what += " of " + e.Request.Subresource
	}
	if e.Request.DryRun {
		what += " (dry run)"
	}
	logger.Debug(fmt.Sprintf("%s by %s is %s.", what, e.Request.User.Username, response), EventKey, LogReviewAnswered,
		"handlers", len(e.Handlers), "took", e.Took.String())
}

func byHandlers(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return " by " + strings.Join(ids, ", ")
}

func (l *LogLines) debugging(logger *slog.Logger) bool { return logger.Enabled(l.ctx, slog.LevelDebug) }

func (l *LogLines) planned(e Planned) {
	logger := e.Subject.Logger
	l.orphansFound(e)
	for _, purpose := range object.SortedKeys(e.Superseded) {
		counts := e.Superseded[purpose]
		logger.Info(fmt.Sprintf("%s is superseded by %s: %d succeeded; %d failed; %d left to the moment.",
			capitalized(handlers.Reason(purpose).Title()), e.Cause.Reason.Title(), counts.Success, counts.Failure, counts.Running),
			EventKey, LogCauseSuperseded)
	}
	if !e.Begun || !l.debugging(logger) {
		return
	}
	switch e.Cause.Reason {
	case handlers.ReasonGone:
		logger.Debug("Deleted, really deleted, and we are notified.", EventKey, LogCauseGone)
	case handlers.ReasonFree:
		logger.Debug("Deletion, but we are done with it, and we do not care.", EventKey, LogCauseFree)
	case handlers.ReasonNoop:
		logger.Debug(nothingEssential, EventKey, LogCauseNoop)
	default:
		title := capitalized(e.Cause.Reason.Title())
		logger.Debug(title+" is in progress", EventKey, LogCauseStarted, "version", e.Subject.Object.ResourceVersion)
		if e.Cause.Old != nil && len(e.Cause.Diff) > 0 {
			logger.Debug(title+" diff", EventKey, LogCauseDiff, "diff", diffText(e.Subject.Secrets.Diff(e.Cause.Diff)))
		}
	}
}

const nothingEssential = "Something has changed, but we are not interested (the essence is the same)."

func (l *LogLines) attemptEnded(e AttemptEnded) {
	level := e.Line.Level
	if e.Handler.Family == handlers.Index && e.Err == nil && !e.Exhausted {
		level = slog.LevelDebug // the line is logged for each version of each object
	}
	attrs := []slog.Attr{slog.Any(EventKey, outcomeName(e))}
	if panicked, ok := errors.AsType[*handlers.PanicError](e.Err); ok {
		attrs = append(attrs, slog.String(StackKey, string(panicked.Stack)))
	}
	e.Subject.Logger.LogAttrs(l.ctx, level, e.Line.Message, attrs...)
}

func outcomeName(e AttemptEnded) LogName {
	switch {
	case e.Cancelled:
		return LogHandlerCancelled
	case e.Exhausted:
		return LogHandlerExhausted
	}
	switch meteredOutcome(e) {
	case Unfinished:
		return LogHandlerUnfinished
	case Retried:
		return LogHandlerRetrying
	case Waiting:
		return LogHandlerWaiting
	case Denied:
		return LogHandlerDenied
	case Failed:
		return LogHandlerFailed
	case Ignored:
		return LogHandlerIgnored
	default:
		return LogHandlerSucceeded
	}
}

// orphansFound warns about each orphan once, even if several objects have it. Most likely, a handler was renamed, and starts
// again under its new id.
func (l *LogLines) orphansFound(e Planned) {
	for _, orphan := range e.Orphans {
		if l.isFirst(e.Subject.Resource.Key() + " " + orphan.ID) {
			e.Subject.Logger.Warn(fmt.Sprintf("There is progress of the handler %q on the object, and no such handler. %s",
				orphan.ID, adviceOn(orphan)), EventKey, LogProgressOrphaned)
		}
	}
}

func adviceOn(orphan state.Orphan) string {
	switch base := orphan.Base(); {
	case orphan.Shortened:
		return "If it was renamed, it continues from there with its previous id in kopf.ID; the id above is shortened, and ends with a hash."
	case base != orphan.ID:
		return fmt.Sprintf("If %q was renamed, it continues from there with kopf.ID(%q).", base, base)
	default:
		return fmt.Sprintf("If it was renamed, it continues from there with kopf.ID(%q).", base)
	}
}

// stepChanged warns about each step that its handler no longer asks for once, even if several objects have it.
func (l *LogLines) stepChanged(e StepChanged) {
	recorded, advice := "is recorded on the object", "it was called again, with another key. With its previous name, it continues from the record."
	switch e.Step.State {
	case inspect.StepUnknown:
	case inspect.StepAbandoned:
		recorded, advice = "has started and perhaps happened", "it was called again. With its previous name, it is not repeated."
	default:
		return
	}
	if l.isFirst(e.Subject.Resource.Key() + " " + e.Handler.ID + " step " + e.Step.Name + " " + string(e.Step.State)) {
		e.Subject.Logger.Warn(fmt.Sprintf("Step %q %s, and handler '%s' no longer asks for it. If it was renamed, %s",
			e.Step.Name, recorded, e.Handler.ID, advice), EventKey, LogStepUnknown)
	}
}

func (l *LogLines) isFirst(orphan string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.orphans[orphan] {
		return false
	}
	l.orphans[orphan] = true
	return true
}

func (l *LogLines) ended(e Ended) {
	switch {
	case e.Skipped:
		e.Subject.Logger.Debug(nothingEssential, EventKey, LogCauseNoop)
		e.Subject.Logger.Debug("Handling cycle is finished, waiting for new changes.", EventKey, LogProcessingFinished)
	case e.Err == nil && e.Recovered:
		e.Subject.Logger.Info("Throttling is over: back to normal.", EventKey, LogProcessingRecovered)
	case e.Err == nil:
	case e.Deleted:
		e.Subject.Logger.With(ErrorAttrs(e.Err)...).Error("Handling has failed.", EventKey, LogProcessingFailed)
	default:
		e.Subject.Logger.With(ErrorAttrs(e.Err)...).Error(
			fmt.Sprintf("Handling has failed: it is throttled for %s.", e.RetryIn), EventKey, LogProcessingFailed)
	}
}

// ErrorAttrs returns the attributes of a log line about an error, with the stack if the error is a panic.
func ErrorAttrs(err error) []any {
	attrs := []any{"error", err}
	if panicked, ok := errors.AsType[*handlers.PanicError](err); ok {
		attrs = append(attrs, StackKey, string(panicked.Stack))
	}
	return attrs
}

func (l *LogLines) streamChanged(e StreamChanged) {
	switch e.Phase {
	case StreamStarted:
		l.logger.Debug("Starting the watch-stream for "+e.Stream.String()+".", EventKey, LogStreamStarted)
	case StreamListed:
	case StreamRestarted:
		l.streamRestarted(e)
	case StreamStopped:
		l.logger.Debug("Stopping the watch-stream for "+e.Stream.String()+".", EventKey, LogStreamStopped)
	}
}

// streamRestarted logs the restart of a stream. Common reasons have a low level.
func (l *LogLines) streamRestarted(e StreamChanged) {
	restart := e.Restart
	switch restart.Reason {
	case watch.Closed, watch.ClientTimeout, watch.Expired, watch.Silent:
		l.streams.Debug("The watch-stream for "+e.Stream.String()+" is restarted.",
			EventKey, LogStreamRestarted, "reason", string(restart.Reason))
		return
	case watch.Throttled:
		if restart.Attempt < 2 {
			// This is normal for a newly defined resource, whose storage in the API server is not ready yet.
			l.streams.Debug("The watch-stream for "+e.Stream.String()+" will be started later.",
				EventKey, LogStreamPostponed, "error", restart.Err, "again in", restart.Delay.String())
			return
		}
	}
	message := "The watch-stream for " + e.Stream.String() + " is interrupted."
	if e.Blocking {
		message += " All handlers wait for it, because its objects must be indexed first."
	}
	l.streams.Warn(message, EventKey, LogStreamInterrupted,
		"reason", string(restart.Reason), "error", restart.Err, "again in", restart.Delay.String())
}

func (l *LogLines) requestEnded(e RequestEnded) {
	if !l.debugging(l.clients) {
		return
	}
	call := e.Call
	took := call.Duration.Round(10 * time.Microsecond)
	switch {
	case call.Status == 0:
		l.clients.Debug(fmt.Sprintf("%s %s: no response in %s", call.Method, call.Path, took), EventKey, LogAPIRequest, "error", call.Err)
	case call.Err != nil:
		l.clients.Debug(fmt.Sprintf("%s %s: %d in %s", call.Method, call.Path, call.Status, took), EventKey, LogAPIRequest, "error", call.Err)
	default:
		l.clients.Debug(fmt.Sprintf("%s %s: %d in %s", call.Method, call.Path, call.Status, took), EventKey, LogAPIRequest)
	}
}

// diffText is a diff that is formatted when it is logged.
type diffText object.Diff

// String returns the differences, such as "+added=1 -removed=2 ~changed=3→4".
func (d diffText) String() string {
	words := make([]string, len(d))
	for i, item := range d {
		switch item.Op {
		case object.DiffAdd:
			words[i] = fmt.Sprintf("+%s=%v", item.Path, item.New)
		case object.DiffRemove:
			words[i] = fmt.Sprintf("-%s=%v", item.Path, item.Old)
		default:
			words[i] = fmt.Sprintf("~%s=%v→%v", item.Path, item.Old, item.New)
		}
	}
	return strings.Join(words, " ")
}

func capitalized(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
