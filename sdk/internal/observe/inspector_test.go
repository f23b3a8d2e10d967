package observe

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

func TestInspector_StateOfTheOperator(t *testing.T) {
	in := newInspected()
	operator := func() inspect.Operator { return in.hub.Snapshot().Operator }
	if op := operator(); op.State != inspect.OperatorStarting || op.Identity == "" || op.PID == 0 || op.Started.IsZero() {
		t.Errorf("%+v", op)
	}
	Emit(&in.sink, ClusterConnected{Server: "https://cluster"})
	Emit(&in.sink, OperatorChanged{State: inspect.OperatorPaused, Reason: "on request"})
	if op := operator(); op.State != inspect.OperatorPaused || op.Reason != "on request" || op.Server != "https://cluster" {
		t.Errorf("%+v", op)
	}
	Emit(&in.sink, OperatorChanged{State: inspect.OperatorRunning})
	if op := operator(); op.State != inspect.OperatorRunning || op.Reason != "" {
		t.Errorf("%+v", op)
	}
}

func TestInspector_ClusterLostUntilItAnswers(t *testing.T) {
	in := newInspected()
	lost := func() string { return in.hub.Snapshot().Operator.Lost }
	Emit(&in.sink, ClusterLost{Reason: "connection refused"})
	for _, status := range []int{0, http.StatusUnauthorized, http.StatusServiceUnavailable} {
		Emit(&in.sink, RequestEnded{kube.Call{Status: status}})
		if lost() != "connection refused" {
			t.Errorf("%d is no answer", status)
		}
	}
	Emit(&in.sink, RequestEnded{kube.Call{Status: http.StatusNotFound}})
	if lost() != "" {
		t.Error("it answered")
	}
}

func TestInspector_ShowsIgnoredErrors(t *testing.T) {
	h := &handlers.Handler{ID: "c", Family: handlers.Create}
	in := newInspected(h)
	subject := podSubject("a", "1")
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}, nil)
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: h, Outcome: handlers.Outcome{Final: true}, Err: handlers.ErrTimeout})
	shown := in.only(t).Handlers[0]
	if shown.State != inspect.PhaseDone || shown.Error != nil || len(shown.Attempts) != 1 || shown.Attempts[0].Error == nil {
		t.Errorf("the handler is done, and its attempt has the error: %+v", shown)
	}
	if stats := in.hub.Snapshot().Handlers[0].Stats; stats.Succeeded != 1 || stats.LastError != handlers.ErrTimeout.Error() {
		t.Errorf("%+v", stats)
	}
}

func TestInspector_CountsAttemptsOfRegisteredHandlers(t *testing.T) {
	startup := &handlers.Handler{ID: "s", Family: handlers.Startup}
	in := newInspected(startup)
	activity := &Subject{Logger: silent}
	for _, out := range []handlers.Outcome{{Final: true}, {Err: handlers.ErrTimeout}, {Final: true, Err: handlers.ErrTimeout}} {
		Emit(&in.sink, AttemptEnded{Subject: activity, Handler: startup, Took: time.Second, Outcome: out})
	}
	Emit(&in.sink, AttemptEnded{Subject: activity, Handler: &handlers.Handler{ID: "s/sub", Family: handlers.Sub}})
	stats := in.hub.Snapshot().Handlers[0].Stats
	if stats.Runs != 3 || stats.Succeeded != 1 || stats.Retried != 1 || stats.Failed != 1 || stats.P50 != inspect.Duration(time.Second) || stats.LastError == "" {
		t.Errorf("%+v", stats)
	}
}

func TestInspector_WaitingAndDenialsAreNoFailures(t *testing.T) {
	create, validate := &handlers.Handler{ID: "c", Family: handlers.Create}, &handlers.Handler{ID: "v", Family: handlers.Validate}
	in := newInspected(create, validate)
	waits, denial := handlers.AsTemporary(errors.New("not yet"), time.Second), handlers.AsDenial(errors.New("too big"), 403)
	for _, e := range []AttemptEnded{
		{Handler: create, Outcome: handlers.Outcome{Err: waits}, Err: waits},
		{Handler: validate, Outcome: handlers.Outcome{Final: true, Err: denial}, Err: denial},
		{Handler: create, Outcome: handlers.Outcome{Final: true, Err: denial}, Err: denial}, // there is no request that it could deny
	} {
		e.Subject = &Subject{Logger: silent}
		Emit(&in.sink, e)
	}
	for i, want := range []inspect.Stats{{Runs: 2, Waited: 1, Failed: 1}, {Runs: 1, Denied: 1}} {
		got := in.hub.Snapshot().Handlers[i].Stats
		if got.Runs != want.Runs || got.Waited != want.Waited || got.Denied != want.Denied || got.Failed != want.Failed || got.Retried != 0 || (got.LastError != "") != (want.Failed > 0) {
			t.Errorf("%+v", got)
		}
	}
}

func TestInspectorLogHandler_PassesLinesOnWithoutAttributesOfTheirOwn(t *testing.T) {
	var out bytes.Buffer
	hub := inspector.NewHub(inspector.HubOptions{})
	logger := slog.New(InspectorLogHandler(NewLogHandler(&out, LogOptions{Format: LogPlain}), hub))
	logger = ObjectLogger(logger, &pods, podObject("a", "1"))
	logger.With(HandlerKey, "h").WithGroup("g").With("n", 1).Info("text")
	logger.Info("text", EventKey, LogCauseGone)
	lines := hub.Snapshot().Log
	if len(lines) != 2 || lines[0].Message != "text g.n=1" || lines[0].Handler != "h" || lines[0].Object == nil ||
		*lines[0].Object != (inspect.Ref{Resource: pods.Key(), Namespace: "ns", Name: "a", UID: "a-uid"}) || lines[1].Message != "text" {
		t.Errorf("%+v", lines)
	}
	if got, want := out.String(), "text handler=h g.n=1\ntext\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if next := slog.DiscardHandler; InspectorLogHandler(next, nil) != next {
		t.Error("there is no hub to tell")
	}
}
