package observe

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// lineWriter writes the level, the name, the event and the text of each line.
type lineWriter struct {
	out   *bytes.Buffer
	level slog.Level
	attrs []slog.Attr
}

func (w *lineWriter) Enabled(_ context.Context, level slog.Level) bool { return level >= w.level }
func (w *lineWriter) WithGroup(string) slog.Handler                    { return w }
func (w *lineWriter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &lineWriter{w.out, w.level, append(append([]slog.Attr(nil), w.attrs...), attrs...)}
}

func (w *lineWriter) Handle(_ context.Context, record slog.Record) error {
	entry := LogEntryOf(record, w.attrs)
	words := []string{strings.ToLower(record.Level.String())}
	if entry.Name != "" {
		words = append(words, entry.Name)
	}
	w.out.WriteString(strings.Join(append(words, string(entry.Event), entry.Text()), " | ") + "\n")
	return nil
}

type lines struct {
	Sink
	out    bytes.Buffer
	logger *slog.Logger
}

func newLines(t *testing.T, level slog.Level, requests bool) *lines {
	l := &lines{}
	l.logger = slog.New(&lineWriter{out: &l.out, level: level})
	l.Subscribe(NewLogLines(t.Context(), l.logger, requests))
	return l
}

func (l *lines) subject() *Subject {
	subject := podSubject("a", "7")
	subject.Logger = l.logger
	return subject
}

func (l *lines) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.TrimSuffix(l.out.String(), "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	l.out.Reset()
}

func TestLogLines_Causes(t *testing.T) {
	l := newLines(t, slog.LevelDebug, false)
	cause := func(reason handlers.Reason) Planned {
		return Planned{Subject: l.subject(), Cause: &handlers.Cause{Reason: reason}, Begun: true}
	}
	update := cause(handlers.ReasonUpdate)
	update.Cause.Old = map[string]any{"a": int64(1), "b": int64(2)}
	update.Cause.Diff = object.ComputeDiff(update.Cause.Old, map[string]any{"a": int64(3), "c": int64(4)})
	update.Superseded = map[string]state.Counts{"create": {Success: 1, Failure: 2, Running: 3}}
	Emit(&l.Sink, update)
	progress := state.Progress{}.WithHandlers([]string{"u"}, time.Now())
	Emit(&l.Sink, Recorded{Subject: l.subject(), Cause: update.Cause, Progress: progress})
	progress, err := progress.WithOutcomes(map[string]handlers.Outcome{"u": {Final: true}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	Emit(&l.Sink, Recorded{Subject: l.subject(), Cause: update.Cause, Progress: progress, Parent: "p"})
	Emit(&l.Sink, Recorded{Subject: l.subject(), Cause: update.Cause, Progress: progress})
	waits := cause(handlers.ReasonCreate)
	waits.Begun = false
	Emit(&l.Sink, waits)
	Emit(&l.Sink, cause(handlers.ReasonCreate))
	Emit(&l.Sink, cause(handlers.ReasonNoop))
	Emit(&l.Sink, cause(handlers.ReasonFree))
	Emit(&l.Sink, cause(handlers.ReasonGone))
	l.expect(t,
		"info | cause.superseded | Creation is superseded by updating: 1 succeeded; 2 failed; 3 left to the moment.",
		"debug | cause.started | Updating is in progress version=7",
		`debug | cause.diff | Updating diff diff="`+diffText(update.Cause.Diff).String()+`"`,
		"info | cause.processed | Updating is processed: 1 succeeded; 0 failed.",
		"debug | cause.started | Creation is in progress version=7",
		"debug | cause.noop | Something has changed, but we are not interested (the essence is the same).",
		"debug | cause.free | Deletion, but we are done with it, and we do not care.",
		"debug | cause.gone | Deleted, really deleted, and we are notified.",
	)
	if got := diffText(update.Cause.Diff).String(); !strings.Contains(got, "a=1→3") || !strings.Contains(got, "-b=2") || !strings.Contains(got, "+c=4") {
		t.Error(got)
	}
}

func TestLogLines_Attempts(t *testing.T) {
	l := newLines(t, slog.LevelDebug, false)
	h := &handlers.Handler{ID: "h", Family: handlers.Create}
	indexing := &handlers.Handler{ID: "x", Family: handlers.Index}
	failed := errors.New("oops")
	waits, denial := handlers.AsTemporary(failed, time.Second), handlers.AsDenial(failed, 403)
	validating := &handlers.Handler{ID: "v", Family: handlers.Validate}
	line := func(level slog.Level) handlers.LogLine { return handlers.LogLine{Level: level, Message: "Text."} }
	Emit(&l.Sink, AttemptStarted{Subject: l.subject(), Handler: h})
	for _, e := range []AttemptEnded{
		{Handler: h, Outcome: handlers.Outcome{Final: true}, Line: line(slog.LevelInfo)},
		{Handler: indexing, Outcome: handlers.Outcome{Final: true}, Line: line(slog.LevelInfo)},
		{Handler: h, Outcome: handlers.Outcome{Err: failed}, Err: failed, Line: line(slog.LevelError)},
		{Handler: indexing, Outcome: handlers.Outcome{Final: true, Err: failed}, Err: failed, Line: line(slog.LevelError)},
		{Handler: h, Outcome: handlers.Outcome{Final: true}, Err: failed, Line: line(slog.LevelError)},
		{Handler: h, Outcome: handlers.Outcome{Err: &handlers.ChildrenRetry{}}, Err: &handlers.ChildrenRetry{}, Line: line(slog.LevelDebug)},
		{Handler: h, Outcome: handlers.Outcome{Final: true, Err: handlers.ErrAttempts}, Exhausted: true, Line: line(slog.LevelError)},
		{Handler: h, Outcome: handlers.Outcome{Final: true}, Cancelled: true, Line: line(slog.LevelDebug)},
		{Handler: h, Outcome: handlers.Outcome{Err: failed}, Err: &handlers.PanicError{Value: "x", Stack: []byte("main.go")}, Line: line(slog.LevelError)},
		{Handler: h, Outcome: handlers.Outcome{Err: waits}, Err: waits, Line: line(slog.LevelInfo)},
		{Handler: validating, Outcome: handlers.Outcome{Final: true, Err: denial}, Err: denial, Line: line(slog.LevelInfo)},
		{Handler: h, Outcome: handlers.Outcome{Final: true, Err: denial}, Err: denial, Line: line(slog.LevelError)},
	} {
		e.Subject = l.subject()
		Emit(&l.Sink, e)
	}
	l.expect(t,
		"debug | handler.invoked | Handler 'h' is invoked.",
		"info | handler.succeeded | Text.",
		"debug | handler.succeeded | Text.",
		"error | handler.retrying | Text.",
		"error | handler.failed | Text.",
		"error | handler.ignored | Text.",
		"debug | handler.unfinished | Text.",
		"error | handler.exhausted | Text.",
		"debug | handler.cancelled | Text.",
		"error | handler.retrying | Text. stack=main.go",
		"info | handler.waiting | Text.",
		"info | handler.denied | Text.",
		"error | handler.failed | Text.",
	)
}

func TestLogLines_SkippedAnswerIsANoop(t *testing.T) {
	l := newLines(t, slog.LevelDebug, false)
	Emit(&l.Sink, Ended{Subject: l.subject(), Skipped: true})
	l.expect(t,
		"debug | cause.noop | Something has changed, but we are not interested (the essence is the same).",
		"debug | processing.finished | Handling cycle is finished, waiting for new changes.",
	)
}

func TestLogLines_OrphansOncePerResource(t *testing.T) {
	l := newLines(t, slog.LevelDebug, false)
	other := l.subject()
	other.Resource = &resources.Resource{Version: "v1", Plural: "jobs"}
	for _, subject := range []*Subject{l.subject(), l.subject(), other} {
		Emit(&l.Sink, Planned{Subject: subject, Orphans: []state.Orphan{{ID: "old"}}})
	}
	const line = `warn | progress.orphaned | There is progress of the handler "old" on the object, and no such handler. ` +
		`If it was renamed, it continues from there with kopf.ID("old").`
	l.expect(t, line, line)
}

func TestLogLines_OrphansWithTheIDToKeep(t *testing.T) {
	l := newLines(t, slog.LevelDebug, false)
	Emit(&l.Sink, Planned{Subject: l.subject(), Orphans: []state.Orphan{{ID: "create_e/two"}, {ID: "long-aBcDeF", Shortened: true}}})
	l.expect(t,
		`warn | progress.orphaned | There is progress of the handler "create_e/two" on the object, and no such handler. `+
			`If "create_e" was renamed, it continues from there with kopf.ID("create_e").`,
		`warn | progress.orphaned | There is progress of the handler "long-aBcDeF" on the object, and no such handler. `+
			`If it was renamed, it continues from there with its previous id in kopf.ID; the id above is shortened, and ends with a hash.`,
	)
}

func TestLogLines_UnknownStepsOncePerHandler(t *testing.T) {
	l := newLines(t, slog.LevelDebug, false)
	for _, id := range []string{"create", "create", "update"} {
		for _, as := range []inspect.StepState{inspect.StepRecorded, inspect.StepUnknown, inspect.StepUnsure, inspect.StepAbandoned} {
			Emit(&l.Sink, StepChanged{Subject: l.subject(), Handler: &handlers.Handler{ID: id}, Step: inspect.Step{Name: "old", State: as}})
		}
	}
	const line = `warn | step.unknown | Step "old" is recorded on the object, and handler 'create' no longer asks for it. ` +
		`If it was renamed, it was called again, with another key. With its previous name, it continues from the record.`
	const start = `warn | step.unknown | Step "old" has started and perhaps happened, and handler 'create' no longer asks for it. ` +
		`If it was renamed, it was called again. With its previous name, it is not repeated.`
	l.expect(t, line, start, strings.ReplaceAll(line, "create", "update"), strings.ReplaceAll(start, "create", "update"))
}

func TestLogLines_ProcessingFailures(t *testing.T) {
	l := newLines(t, slog.LevelDebug, false)
	Emit(&l.Sink, Ended{Subject: l.subject(), Finished: true})
	Emit(&l.Sink, Ended{Subject: l.subject(), Err: errors.New("oops"), RetryIn: time.Second})
	Emit(&l.Sink, Ended{Subject: l.subject(), Err: &handlers.PanicError{Value: "x", Stack: []byte("main.go")}, Deleted: true})
	Emit(&l.Sink, Ended{Subject: l.subject(), Recovered: true})
	l.expect(t,
		"error | processing.failed | Handling has failed: it is throttled for 1s. error=oops",
		`error | processing.failed | Handling has failed. error="panic: x" stack=main.go`,
		"info | processing.recovered | Throttling is over: back to normal.",
	)
}

func TestLogLines_Streams(t *testing.T) {
	l := newLines(t, slog.LevelDebug, false)
	stream := resources.Scope{Resource: "pods.v1", Namespace: "ns"}
	Emit(&l.Sink, StreamChanged{Stream: stream, Phase: StreamStarted})
	Emit(&l.Sink, StreamChanged{Stream: stream, Phase: StreamListed})
	restart := func(blocking bool, reason watch.Reason, attempt int) {
		Emit(&l.Sink, StreamChanged{Stream: stream, Phase: StreamRestarted, Blocking: blocking, Restart: watch.Restart{
			Reason: reason, Err: errors.New("oops"), Delay: time.Second, Attempt: attempt,
		}})
	}
	restart(false, watch.Closed, 0)
	restart(false, watch.Throttled, 1)
	restart(false, watch.Throttled, 2)
	restart(true, watch.Dropped, 0)
	Emit(&l.Sink, StreamChanged{Stream: resources.Scope{Resource: "pods.v1"}, Phase: StreamStopped})
	l.expect(t,
		"debug | stream.started | Starting the watch-stream for pods.v1 in ns.",
		"debug | kopf.watching | stream.restarted | The watch-stream for pods.v1 in ns is restarted. reason=closed",
		`debug | kopf.watching | stream.postponed | The watch-stream for pods.v1 in ns will be started later. error=oops again in=1s`,
		`warn | kopf.watching | stream.interrupted | The watch-stream for pods.v1 in ns is interrupted. reason=throttled error=oops again in=1s`,
		`warn | kopf.watching | stream.interrupted | The watch-stream for pods.v1 in ns is interrupted. All handlers wait for it, because its objects must be indexed first. reason=dropped error=oops again in=1s`,
		"debug | stream.stopped | Stopping the watch-stream for pods.v1 cluster-wide.",
	)
}

func TestLogLines_RequestsOnDemand(t *testing.T) {
	call := kube.Call{Method: "GET", Path: "/api", Status: 200, Duration: time.Millisecond}
	failed, unanswered := call, call
	failed.Status, failed.Err = 404, errors.New("oops")
	unanswered.Status, unanswered.Err = 0, errors.New("oops")
	l := newLines(t, slog.LevelDebug, true)
	for _, call := range []kube.Call{call, failed, unanswered} {
		Emit(&l.Sink, RequestEnded{call})
	}
	l.expect(t,
		"debug | kopf.clients | api.request | GET /api: 200 in 1ms",
		"debug | kopf.clients | api.request | GET /api: 404 in 1ms error=oops",
		"debug | kopf.clients | api.request | GET /api: no response in 1ms error=oops",
	)
	if newLines(t, slog.LevelDebug, false).Wants(KindRequestEnded) {
		t.Error("requests are logged without being asked for")
	}
}

func TestLogLines_NothingBelowTheLevel(t *testing.T) {
	l := newLines(t, slog.LevelInfo, false)
	Emit(&l.Sink, Planned{Subject: l.subject(), Cause: &handlers.Cause{Reason: handlers.ReasonCreate}, Begun: true})
	Emit(&l.Sink, AttemptStarted{Subject: l.subject(), Handler: &handlers.Handler{ID: "h"}})
	Emit(&l.Sink, StreamChanged{Phase: StreamStarted})
	l.expect(t, "")
}
