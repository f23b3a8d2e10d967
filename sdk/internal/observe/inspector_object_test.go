package observe

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

var pods = resources.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Singular: "pod", Namespaced: true}

// inspected is an operator with an inspector and handlers for pods.
type inspected struct {
	*Inspector
	sink     Sink
	registry handlers.Registry
	indices  index.Indices
}

func newInspected(hs ...*handlers.Handler) *inspected {
	in := &inspected{}
	for _, h := range hs {
		h.Selector = resources.Selector{Plural: "pods", Version: "v1"}
		in.registry.Add(h)
		if h.Family == handlers.Index {
			in.indices.Ensure(h.ID, h.NewIndex)
		}
	}
	in.Inspector = NewInspector(InspectorOptions{
		Hub: inspector.NewHub(inspector.HubOptions{}), Registry: &in.registry, Indices: &in.indices, Started: time.Now(),
	})
	in.sink.Subscribe(in.Inspector)
	return in
}

func (in *inspected) handlers() *handlers.Set { return in.registry.ForResource(&pods) }

// only returns the only object of the inspector; nil if there is none.
func (in *inspected) only(t *testing.T) *inspect.Object {
	t.Helper()
	switch objects := in.hub.Snapshot().Objects; len(objects) {
	case 0:
		return nil
	case 1:
		return objects[0]
	default:
		t.Fatalf("%+v", objects)
		return nil
	}
}

func podSubject(name, version string) *Subject {
	return &Subject{
		Identity: &Identity{}, Resource: &pods, Object: podObject(name, version), Logger: silent,
		Reference: ObjectReference{APIVersion: "v1", Kind: "Pod", Name: name, Namespace: "ns", UID: name + "-uid"},
	}
}

func podObject(name, version string) *object.Object {
	return object.Stub("v1", "Pod", "ns", name, name+"-uid", version)
}

func TestInspectedObject_ForgottenRemainsInAPlan(t *testing.T) {
	planning.Calls = 1
	defer func() { planning.Calls = 0 }()
	timer := &handlers.Handler{ID: "t", Family: handlers.Timer}
	in := newInspected(timer)
	subject := podSubject("a", "1")
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: timer})
	Emit(&in.sink, ObjectForgotten{subject.Identity})
	if o := in.only(t); o == nil || len(o.Handlers) != 1 || o.State != inspect.StateSettled {
		t.Errorf("%+v", o)
	}
}

func TestInspectedObject_ForgottenIsNotShownAgain(t *testing.T) {
	timer := &handlers.Handler{ID: "t", Family: handlers.Timer}
	in := newInspected(timer)
	subject := podSubject("a", "1")
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: timer})
	if o := in.only(t); o == nil || o.Name != "a" || len(o.Handlers) != 1 || o.Handlers[0].State != inspect.PhaseTicking {
		t.Fatalf("%+v", o)
	}
	Emit(&in.sink, ObjectForgotten{subject.Identity})
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: timer, Outcome: handlers.Outcome{Final: true}})
	Emit(&in.sink, ObjectIndexed{Subject: subject})
	if o := in.only(t); o != nil {
		t.Errorf("%+v", o)
	}
	if len(in.objects.m) != 0 {
		t.Error("it is still remembered")
	}
	if runs := in.hub.Snapshot().Handlers[0].Stats.Runs; runs != 1 {
		t.Errorf("the handler ran %d times", runs)
	}

	again := podSubject("a", "2")
	Emit(&in.sink, Planned{Subject: again})
	Emit(&in.sink, ObjectForgotten{subject.Identity})
	if o := in.only(t); o == nil || o.ResourceVersion != "2" || len(o.Handlers) != 0 {
		t.Errorf("after its return: %+v", o)
	}
}

func TestInspectedObject_SkippedAnswerIsShownAsVersion(t *testing.T) {
	in := newInspected()
	subject := podSubject("a", "1")
	Emit(&in.sink, Planned{Subject: subject})
	Emit(&in.sink, Ended{Subject: subject})
	subject.Object = podObject("a", "2")
	Emit(&in.sink, Ended{Subject: subject, Skipped: true})
	if o := in.only(t); o.ResourceVersion != "2" {
		t.Errorf("%+v", o)
	}
}

func TestInspectedObject_UnreadableMarksAreListed(t *testing.T) {
	in := newInspected()
	subject := podSubject("a", "1")
	for range maxUnreadable + 5 {
		_, err := state.NewSmartProgress().Fetch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/fn": "{"}}}, "fn")
		mark, _ := errors.AsType[*state.BrokenMark](err)
		Emit(&in.sink, MarkBroken{Subject: subject, Mark: mark})
	}
	want := inspect.Unreadable{
		What: `the progress of handler "fn"`, Where: "the annotation kopf.zalando.org/fn",
		Error: "invalid JSON at byte 1: a key is missing", Aside: "kopf.zalando.org/unreadable.fn",
	}
	got := in.only(t).Unreadable
	if len(got) != maxUnreadable || got[0] != want {
		t.Errorf("got %+v", got)
	}
}

func TestInspectedObject_OrphansListedUntilTheyAreGone(t *testing.T) {
	in := newInspected()
	subject := podSubject("a", "1")
	Emit(&in.sink, Planned{Subject: subject, Changing: true, Orphans: []state.Orphan{{ID: "old", Record: state.Record{Retries: 2}}}})
	if hs := in.only(t).Handlers; len(hs) != 1 || hs[0].ID != "old" || hs[0].State != inspect.PhaseUnknown || hs[0].Attempt != 2 {
		t.Errorf("%+v", hs)
	}
	if state := in.only(t).State; state != inspect.StateIgnored {
		t.Errorf("the object is %s", state)
	}
	Emit(&in.sink, Planned{Subject: subject, Changing: true})
	if hs := in.only(t).Handlers; len(hs) != 0 {
		t.Errorf("%+v", hs)
	}
}

func TestInspectedObject_HiddenValuesInStoredErrorsAreMarked(t *testing.T) {
	in := newInspected(&handlers.Handler{ID: "fn", Family: handlers.Create})
	subject := podSubject("a", "1")
	subject.Object.Raw = []byte(`{"spec":{"password":"hunter2"}}`)
	subject.Secrets = (&redact.Policy{Fields: []object.Path{{"spec", "password"}}}).Of(&pods, subject.Object)
	_, err := state.NewSmartProgress().Fetch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"kopf.zalando.org/fn": `{"started":"hunter2"}`,
	}}}, "fn")
	mark, ok := errors.AsType[*state.BrokenMark](err)
	if !ok || !strings.Contains(mark.Err.Error(), "hunter2") {
		t.Fatalf("the error does not quote what it cannot read: %v", err)
	}
	Emit(&in.sink, MarkBroken{Subject: subject, Mark: mark})
	Emit(&in.sink, Planned{
		Subject: subject, Cause: &handlers.Cause{Reason: handlers.ReasonNoop}, Handlers: in.handlers(), Changing: true, At: time.Now(),
		Failures: []state.Failure{{Handler: "fn", Purpose: "create", Message: "login with hunter2 failed"}},
	})
	o := in.only(t)
	if got := o.Unreadable[0].Error; strings.Contains(got, "hunter2") || !strings.Contains(got, redact.Mark) {
		t.Errorf("the unreadable mark: %s", got)
	}
	if got := o.Handlers[0].Error; got == nil || got.Message != "login with [redacted] failed" {
		t.Errorf("the failure: %+v", got)
	}
}
