package observe

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// meter records its calls as text.
type meter struct {
	told  []string
	state func() MeterState
}

func (m *meter) tell(format string, args ...any) {
	m.told = append(m.told, fmt.Sprintf(format, args...))
}

func (m *meter) Event(resource, kind string)   { m.tell("event %s %s", resource, kind) }
func (m *meter) Cause(resource, reason string) { m.tell("cause %s %s", resource, reason) }
func (m *meter) Attempt(a MeteredAttempt) {
	m.tell("attempt %s %s %s %v %s", a.Handler.Kind, a.Handler.ID, a.Outcome, a.Called, a.Took)
}
func (m *meter) Request(verb string, code int, took time.Duration) {
	m.tell("request %s %d %s", verb, code, took)
}
func (m *meter) Restart(resource, reason string) { m.tell("restart %s %s", resource, reason) }
func (m *meter) Login(succeeded bool)            { m.tell("login %v", succeeded) }
func (m *meter) Pass(resource, outcome, wake string) {
	m.tell("pass %s %s %s", resource, outcome, wake)
}
func (m *meter) Apply(resource, result string) { m.tell("apply %s %s", resource, result) }
func (m *meter) Prune(resource string)         { m.tell("prune %s", resource) }
func (m *meter) Drift(resource string)         { m.tell("drift %s", resource) }
func (m *meter) Begin(handlers []MeteredHandler, look func() MeterState) func() {
	m.tell("begin %v", handlers)
	m.state = look
	return func() { m.tell("end") }
}
func (m *meter) Endpoint() (string, http.Handler) { return "", nil }

func (m *meter) expect(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(m.told, want) {
		t.Errorf("got  %q\nwant %q", m.told, want)
	}
	m.told = nil
}

func newMetered(hs ...*handlers.Handler) (*Sink, *Metrics, *meter) {
	m := &meter{}
	metrics := NewMetrics(m, hs)
	sink := &Sink{}
	sink.Subscribe(metrics)
	return sink, metrics, m
}

func TestMetrics_OutcomesOfAttempts(t *testing.T) {
	h := &handlers.Handler{ID: "c", Family: handlers.Create}
	sink, _, m := newMetered(h)
	failed := errors.New("oops")
	for _, e := range []AttemptEnded{
		{Took: time.Second, Outcome: handlers.Outcome{Final: true}},
		{Outcome: handlers.Outcome{Err: failed}, Err: failed},
		{Outcome: handlers.Outcome{Final: true, Err: failed}, Err: failed},
		{Outcome: handlers.Outcome{Final: true}, Err: failed},
		{Outcome: handlers.Outcome{Err: &handlers.ChildrenRetry{}}, Err: &handlers.ChildrenRetry{}},
		{Outcome: handlers.Outcome{Final: true, Err: handlers.ErrTimeout}, Exhausted: true},
	} {
		e.Subject, e.Handler = podSubject("a", "1"), h
		Emit(sink, e)
	}
	m.expect(t, "attempt create c succeeded true 1s", "attempt create c retried true 0s", "attempt create c failed true 0s",
		"attempt create c ignored true 0s", "attempt create c unfinished true 0s", "attempt create c failed false 0s")
}

func TestMetrics_SubHandlersCountedAsTheirParents(t *testing.T) {
	sink, _, m := newMetered(&handlers.Handler{ID: "a"}, &handlers.Handler{ID: "a/b"}, &handlers.Handler{ID: "c"})
	sub := &handlers.Handler{ID: "a/b/1", Family: handlers.Sub}
	Emit(sink, AttemptEnded{Subject: podSubject("a", "1"), Handler: sub, Outcome: handlers.Outcome{Final: true}})
	m.expect(t, "attempt sub a/b succeeded true 0s")
}

func TestMetrics_CauseCountedOnceUntilDone(t *testing.T) {
	h := &handlers.Handler{ID: "c", Family: handlers.Create}
	sink, metrics, m := newMetered(h)
	defer metrics.Begin(func() MeterState { return MeterState{Objects: 1} })()
	subject := podSubject("a", "1")
	begun := Planned{
		Subject: subject, Cause: &handlers.Cause{Reason: handlers.ReasonCreate}, Begun: true, Selected: []*handlers.Handler{h},
	}
	retrying := func(want int) {
		t.Helper()
		if got := m.state(); !cmp.Equal(got, MeterState{Objects: 1, Retrying: want}) {
			t.Errorf("%+v", got)
		}
	}
	recorded := func(out handlers.Outcome) {
		t.Helper()
		progress, err := state.Progress{}.WithHandlers([]string{"c"}, time.Now()).WithOutcomes(map[string]handlers.Outcome{"c": out}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		Emit(sink, Recorded{Subject: subject, Parent: "p", Progress: progress})
		Emit(sink, Recorded{Subject: subject, Progress: progress})
	}
	Emit(sink, Planned{Subject: subject, Cause: begun.Cause, Selected: begun.Selected}) // the finalizer comes first
	m.expect(t, "begin [{c create}]")
	Emit(sink, begun)
	recorded(handlers.Outcome{Err: handlers.ErrTimeout})
	retrying(1)
	Emit(sink, begun)
	recorded(handlers.Outcome{Final: true})
	retrying(0)
	Emit(sink, begun)
	begun.Cause = &handlers.Cause{Reason: handlers.ReasonUpdate}
	Emit(sink, begun)
	begun.Cause = &handlers.Cause{Reason: handlers.ReasonNoop}
	Emit(sink, begun)
	if len(metrics.objects) != 0 {
		t.Error("a settled object is remembered")
	}
	m.expect(t, "cause pods.v1 create", "cause pods.v1 create", "cause pods.v1 update")

	recorded(handlers.Outcome{Err: handlers.ErrTimeout})
	Emit(sink, ObjectForgotten{subject.Identity})
	retrying(0)
}

func TestMetrics_StreamsRequestsAndLogins(t *testing.T) {
	sink, _, m := newMetered()
	stream := resources.Scope{Resource: pods.Key(), Namespace: "ns"}
	Emit(sink, EventReceived{stream, watch.Event{Type: watch.Listed}})
	Emit(sink, EventReceived{stream, watch.Event{Type: watch.Deleted}})
	Emit(sink, StreamChanged{Stream: stream, Phase: StreamStarted})
	Emit(sink, StreamChanged{Stream: stream, Phase: StreamRestarted, Restart: watch.Restart{Reason: watch.Expired}})
	Emit(sink, RequestEnded{kube.Call{Verb: "patch", Status: 409, Duration: time.Second}})
	Emit(sink, LoginEnded{})
	Emit(sink, LoginEnded{Err: kube.ErrNoCredentials})
	m.expect(t, "event pods.v1 listed", "event pods.v1 deleted", "restart pods.v1 expired", "request patch 409 1s",
		"login true", "login false")
}

func TestMetrics_PassesAndTheirResults(t *testing.T) {
	sink, _, m := newMetered()
	pass := passOf("a", "created", "b", "unchanged", "c", "reverted", "d", "pruned", "e", "")
	pass.Outcome = inspect.PassWaiting
	pass.Wakes = []inspect.Wake{{Kind: inspect.WakeChild}, {Kind: inspect.WakeRetry}}
	for i := range pass.Children {
		pass.Children[i].Resource = pass.Children[i].Name + ".v1"
	}
	pass.Children[2].Drift = []inspect.FieldDrift{
		{Path: "spec.a", Outcome: inspect.DriftReverted}, {Path: "spec.b", Outcome: inspect.DriftYielded}, {Path: "spec.c", Outcome: inspect.DriftReverted},
	}
	Emit(sink, PassEnded{Resource: pods.Key(), Pass: pass})
	Emit(sink, ChildrenChanged{Resource: pods.Key(), Pass: pass})
	m.expect(t, "pass pods.v1 waiting child", "apply a.v1 created", "apply b.v1 unchanged", "apply c.v1 reverted", "drift c.v1", "drift c.v1", "prune d.v1")
}
