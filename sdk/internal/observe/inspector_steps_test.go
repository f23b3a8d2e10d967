package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// steps returns the steps of a handler of the only object, such as "bucket recorded, grant running".
func (in *inspected) steps(t *testing.T, id string) string {
	t.Helper()
	h := in.only(t).Handler(id)
	if h == nil {
		return "no handler"
	}
	var all []string
	for _, step := range h.Steps {
		all = append(all, step.Name+" "+string(step.State))
	}
	return strings.Join(all, ", ")
}

func TestSteps_LiveAndRecorded(t *testing.T) {
	h := &handlers.Handler{ID: "a", Family: handlers.Create}
	in := newInspected(h)
	subject, cause := podSubject("x", "1"), &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}
	began := time.Unix(1e9, 0).UTC()
	recorded := RecordedSteps{Handler: "a", Turn: "create", Steps: map[string]state.Step{
		"grant": {At: object.FormatTime(began.Add(time.Second))}, "bucket": {At: object.FormatTime(began)}, "allow": {At: "unreadable"},
	}}
	planned := Planned{Subject: subject, At: began, Cause: cause, Handlers: in.handlers(), Changing: true, Begun: true, Selected: []*handlers.Handler{h}}
	expect := func(what, want string) {
		t.Helper()
		if got := in.steps(t, "a"); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	change := func(name string, as inspect.StepState) {
		Emit(&in.sink, StepChanged{Subject: subject, Handler: h, Step: inspect.Step{Name: name, State: as}})
	}
	Emit(&in.sink, planned)
	expect("new object", "")
	planned.Steps = []RecordedSteps{recorded, {Handler: "other", Steps: recorded.Steps}}
	Emit(&in.sink, planned)
	expect("records of an earlier operator", "allow recorded, bucket recorded, grant recorded")
	if got, want := in.only(t).Handlers[0].Steps[1], (inspect.Step{Name: "bucket", State: inspect.StepRecorded, At: began, Key: state.StepKey("x-uid", "a", "create", "bucket")}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	before := in.only(t)
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: h})
	change("notify", inspect.StepRunning)
	expect("call", "allow recorded, bucket recorded, grant recorded, notify running")
	change("notify", inspect.StepUnrecorded)
	expect("refused record", "allow recorded, bucket recorded, grant recorded, notify unrecorded")
	change("mail", inspect.StepRunning)
	change("mail", "")
	expect("failed step", "allow recorded, bucket recorded, grant recorded, notify unrecorded")
	change("hangs", inspect.StepRunning)
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: h, Outcome: handlers.Outcome{Err: handlers.ErrTimeout}})
	expect("handler without its step", "allow recorded, bucket recorded, grant recorded, notify unrecorded")
	if n := len(before.Handlers[0].Steps); n != 3 {
		t.Errorf("the state of an earlier reader has changed: %d steps", n)
	}
	Emit(&in.sink, planned)
	expect("next attempt", "allow recorded, bucket recorded, grant recorded, notify unrecorded")
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: h, Outcome: handlers.Outcome{Final: true}})
	expect("success before the end of the handling", "allow recorded, bucket recorded, grant recorded, notify unrecorded")
	Emit(&in.sink, Ended{Subject: subject, Finished: true})
	expect("end of the handling", "")
}

func TestSteps_StartsShowThatAStepHappensAtMostOnce(t *testing.T) {
	began := object.FormatTime(time.Unix(1e9, 0))
	recorded := RecordedSteps{
		Handler: "a", Steps: map[string]state.Step{"bucket": {At: began}, "mail": {At: began}}, Started: map[string]string{"mail": began, "pay": began},
	}
	var got []string
	for _, step := range recordedSteps(recorded, podSubject("x", "1")) {
		got = append(got, fmt.Sprint(step.Name, " ", step.State, " ", step.Once))
	}
	if want := "bucket recorded false, mail recorded true, pay unsure true"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSteps_LostAnswerToARecordShowsTheStepOnce(t *testing.T) {
	h := &handlers.Handler{ID: "a", Family: handlers.Create}
	in := newInspected(h)
	planned := Planned{
		Subject: podSubject("x", "1"), At: time.Now(), Cause: &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate},
		Handlers: in.handlers(), Changing: true, Begun: true, Selected: []*handlers.Handler{h},
	}
	Emit(&in.sink, planned)
	Emit(&in.sink, StepChanged{Subject: planned.Subject, Handler: h, Step: inspect.Step{Name: "bucket", State: inspect.StepUnrecorded}})
	planned.Steps = []RecordedSteps{{Handler: "a", Steps: map[string]state.Step{"bucket": {}}}}
	Emit(&in.sink, planned)
	if got := in.steps(t, "a"); got != "bucket recorded" {
		t.Errorf("%q", got)
	}
}

func TestSteps_FailedHandlersKeepTheirSteps(t *testing.T) {
	h := &handlers.Handler{ID: "a", Family: handlers.Create}
	in := newInspected(h)
	subject := podSubject("x", "1")
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}, nil)
	Emit(&in.sink, StepChanged{Subject: subject, Handler: h, Step: inspect.Step{Name: "bucket", State: inspect.StepRecorded}})
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: h, Outcome: handlers.Outcome{Final: true, Err: handlers.ErrTimeout}})
	Emit(&in.sink, Ended{Subject: subject, Finished: true})
	if got := in.steps(t, "a"); got != "bucket recorded" {
		t.Error(got)
	}
}

func TestSteps_OfSubHandlersThatAreNotListedYet(t *testing.T) {
	h := &handlers.Handler{ID: "a", Family: handlers.Create}
	in := newInspected(h, &handlers.Handler{ID: "b", Family: handlers.Create})
	subject, cause := podSubject("x", "1"), &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}
	Emit(&in.sink, Planned{Subject: subject, Cause: cause, Handlers: in.handlers(), Changing: true, Begun: true, Steps: []RecordedSteps{
		{Handler: "a/1", Turn: "create", Steps: map[string]state.Step{"bucket": {}}}, {Handler: "gone/1", Steps: map[string]state.Step{"bucket": {}}},
	}})
	sub := &handlers.Handler{ID: "a/2", Family: handlers.Sub}
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: sub})
	Emit(&in.sink, StepChanged{Subject: subject, Handler: sub, Step: inspect.Step{Name: "grant", State: inspect.StepRunning}})
	var ids []string
	for _, h := range in.only(t).Handlers {
		ids = append(ids, h.ID+" "+h.Parent+" "+string(h.State))
	}
	if got := strings.Join(ids, ", "); got != "a  next, a/1 a next, a/2 a running, b  next" {
		t.Error(got)
	}
	if one, two := in.steps(t, "a/1"), in.steps(t, "a/2"); one != "bucket recorded" || two != "grant running" {
		t.Errorf("%s; %s", one, two)
	}
}

func TestSteps_UnknownUntilTheHandlerAsksForThem(t *testing.T) {
	h := &handlers.Handler{ID: "a", Family: handlers.Create}
	in := newInspected(h)
	subject := podSubject("x", "1")
	planned := Planned{
		Subject: subject, At: time.Now(), Cause: &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate},
		Handlers: in.handlers(), Changing: true, Begun: true, Selected: []*handlers.Handler{h},
		Steps: []RecordedSteps{{Handler: "a", Turn: "create", Steps: map[string]state.Step{"bucket": {}, "grant": {}}}},
	}
	unknown := StepChanged{Subject: subject, Handler: h, Step: inspect.Step{
		Name: "bucket", State: inspect.StepUnknown, Key: state.StepKey("x-uid", "a", "create", "bucket"),
	}}
	Emit(&in.sink, planned)
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: h})
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: h})
	Emit(&in.sink, unknown)
	Emit(&in.sink, planned)
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: h})
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: h})
	if got := in.steps(t, "a"); got != "bucket unknown, grant recorded" {
		t.Errorf("after an attempt without new steps: %s", got)
	}
	unknown.Step.State = inspect.StepRecorded
	Emit(&in.sink, unknown)
	if got := in.steps(t, "a"); got != "bucket recorded, grant recorded" {
		t.Errorf("after a request for the step: %s", got)
	}
}

func TestSteps_AbandonedUntilTheyHaveAResult(t *testing.T) {
	h := &handlers.Handler{ID: "a", Family: handlers.Create}
	in := newInspected(h)
	subject := podSubject("x", "1")
	recorded := RecordedSteps{Handler: "a", Turn: "create", Started: map[string]string{"mail": object.FormatTime(time.Unix(1e9, 0))}}
	planned := Planned{
		Subject: subject, At: time.Now(), Cause: &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate},
		Handlers: in.handlers(), Changing: true, Begun: true, Selected: []*handlers.Handler{h}, Steps: []RecordedSteps{recorded},
	}
	Emit(&in.sink, planned)
	Emit(&in.sink, StepChanged{Subject: subject, Handler: h, Step: inspect.Step{
		Name: "mail", State: inspect.StepAbandoned, Key: state.StepKey("x-uid", "a", "create", "mail"), Once: true,
	}})
	Emit(&in.sink, planned)
	if got := in.steps(t, "a"); got != "mail abandoned" {
		t.Errorf("in the next attempt: %s", got)
	}
	recorded.Steps = map[string]state.Step{"mail": {}}
	planned.Steps = []RecordedSteps{recorded}
	Emit(&in.sink, planned)
	if got := in.steps(t, "a"); got != "mail recorded" {
		t.Errorf("after the record of the result: %s", got)
	}
}
