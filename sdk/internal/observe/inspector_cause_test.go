package observe

import (
	"errors"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

func TestInspectedObject_NewCauseBeginsWithoutFormerFailures(t *testing.T) {
	failed := inspect.HandlerState{ID: "a", Kind: "update", State: inspect.PhaseFailed, Attempt: 3, Attempts: make([]inspect.Attempt, 3)}
	event := inspect.HandlerState{ID: "e", Kind: "event", State: inspect.PhaseDone, Attempts: make([]inspect.Attempt, 1)}
	o := shown{Object: inspect.Object{
		Cause:    &inspect.Cause{Reason: "update", Done: time.Unix(1, 0)},
		Handlers: []inspect.HandlerState{failed, event},
	}}
	o.begin(Planned{Subject: podSubject("a", "2"), Cause: &handlers.Cause{Reason: handlers.ReasonUpdate}, At: time.Now()})
	if state := o.state(time.Now()); state == inspect.StateFailed {
		t.Error("it looks like a failure")
	}
	if h := o.Handlers[0]; h.Attempt != 0 || len(h.Attempts) != 0 {
		t.Errorf("the attempts of the last cause are shown as those of this one: %+v", h)
	}
	if h := o.Handlers[1]; len(h.Attempts) != 1 {
		t.Errorf("an event does not belong to the cause, but: %+v", h)
	}
	if past := o.History; len(past) != 1 || len(past[0].Failed) != 1 || len(past[0].Handlers) != 1 {
		t.Errorf("the history is %+v", past)
	}
}

// handle emits the events of a cause as the engine does. It calls only handlers with
// an outcome.
func (in *inspected) handle(subject *Subject, cause *handlers.Cause, outcomes map[string]handlers.Outcome) {
	Emit(&in.sink, Planned{
		Subject: subject, Cause: cause, Handlers: in.handlers(), Changing: true, Finalizer: true, At: time.Now(),
	})
	for _, h := range in.handlers().Selected(handlers.Changing, cause) {
		if out, called := outcomes[h.ID]; called {
			Emit(&in.sink, AttemptStarted{Subject: subject, Handler: h})
			Emit(&in.sink, AttemptEnded{Subject: subject, Handler: h, Began: time.Now(), Took: time.Second, Outcome: out, Err: out.Err})
		}
	}
}

func phasesOf(o *inspect.Object) map[string]inspect.HandlerPhase {
	phases := map[string]inspect.HandlerPhase{}
	for _, h := range o.Handlers {
		phases[h.ID] = h.State
	}
	return phases
}

func TestInspectedObject_SupersededCauseMovesToHistory(t *testing.T) {
	create := &handlers.Handler{ID: "c", Family: handlers.Create}
	update := &handlers.Handler{ID: "u", Family: handlers.Update}
	in := newInspected(create, update)
	delay := time.Minute
	subject := podSubject("a", "1")
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}, map[string]handlers.Outcome{
		"c": {Err: errors.New("not yet"), Delay: &delay},
	})
	o := in.only(t)
	if o.State != inspect.StateRetrying || o.Cause.Reason != "create" || !o.Cause.First || !o.Finalizer {
		t.Errorf("%+v", o)
	}
	if got := phasesOf(o); got["c"] != inspect.PhaseRetrying || got["u"] != inspect.PhaseOtherCause {
		t.Error(got)
	}
	if h := o.Handlers[0]; h.Attempt != 1 || len(h.Attempts) != 1 || h.Error == nil || time.Until(h.Next) < delay {
		t.Errorf("%+v", h)
	}

	seen := o.Cause.Seen
	subject.Object = podObject("a", "2")
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}, nil)
	if o := in.only(t); o.Cause.Version != "2" || !o.Cause.Seen.Equal(seen) || len(o.History) != 0 {
		t.Errorf("the cause continues, but %+v", o)
	}

	subject.Object = podObject("a", "3")
	in.handle(subject, &handlers.Cause{
		Resource: &pods, Reason: handlers.ReasonUpdate, Old: map[string]any{"a": int64(1)}, New: map[string]any{"a": int64(2)},
		Diff: object.ComputeDiff(map[string]any{"a": int64(1)}, map[string]any{"a": int64(2)}),
	}, map[string]handlers.Outcome{"u": {Final: true}})
	Emit(&in.sink, Ended{Subject: subject, Finished: true, At: time.Now()})
	o = in.only(t)
	if o.State != inspect.StateSettled || o.Cause.Reason != "update" || o.Cause.Done.IsZero() || len(o.Cause.Diff) != 1 {
		t.Errorf("%+v", o)
	}
	if past := o.History; len(past) != 1 || past[0].SupersededAt != "3" || !slices.Equal(past[0].Handlers, []string{"c"}) {
		t.Errorf("%+v", past)
	}
	if got := phasesOf(o); got["u"] != inspect.PhaseDone || got["c"] != inspect.PhaseOtherCause {
		t.Error(got)
	}
}

func TestInspectedObject_NoopKeepsTheLastCause(t *testing.T) {
	update := &handlers.Handler{ID: "u", Family: handlers.Update}
	in := newInspected(update)
	subject := podSubject("a", "1")
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonNoop}, nil)
	if c := in.only(t).Cause; c.Reason != "noop" || c.Done.IsZero() {
		t.Errorf("%+v", c)
	}
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonUpdate}, map[string]handlers.Outcome{"u": {Final: true}})
	Emit(&in.sink, Ended{Subject: subject, Finished: true, At: time.Now()})
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonNoop}, nil)
	if o := in.only(t); o.Cause.Reason != "update" || phasesOf(o)["u"] != inspect.PhaseDone || len(o.History) != 0 {
		t.Errorf("%+v", o)
	}
}

func TestInspectedObject_LastHandledIsNotWhenAnUnchangedObjectWasFound(t *testing.T) {
	in := newInspected(&handlers.Handler{ID: "u", Family: handlers.Update})
	subject := podSubject("a", "1")
	update := &handlers.Cause{Resource: &pods, Reason: handlers.ReasonUpdate}
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonNoop}, nil)
	in.handle(subject, update, map[string]handlers.Outcome{"u": {Final: true}})
	if at := in.only(t).Cause.LastHandled; !at.IsZero() {
		t.Errorf("an earlier process handled it, but: %v", at)
	}
	Emit(&in.sink, Ended{Subject: subject, Finished: true, At: time.Now()})
	done := in.only(t).Cause.Done

	subject.Object = podObject("a", "2")
	in.handle(subject, update, nil)
	if at := in.only(t).Cause.LastHandled; done.IsZero() || !at.Equal(done) {
		t.Errorf("got %v instead of %v", at, done)
	}
	subject.Object = podObject("a", "3")
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonDelete}, nil)
	if at := in.only(t).Cause.LastHandled; !at.Equal(done) {
		t.Errorf("the update was superseded, but: %v", at)
	}
}

func TestInspectedObject_EventHandlersAreShownBeforeTheirCalls(t *testing.T) {
	event := &handlers.Handler{ID: "e", Family: handlers.Event}
	in := newInspected(event)
	subject := podSubject("a", "1")
	Emit(&in.sink, EventDispatched{Subject: subject, Cause: &handlers.Cause{Resource: &pods, Object: subject.Object}, Handlers: in.handlers()})
	if in.only(t) != nil {
		t.Error("it is shown before anything happens")
	}
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: event})
	if o := in.only(t); o.State != inspect.StateRunning {
		t.Errorf("%+v", o)
	}
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: event, Outcome: handlers.Outcome{Final: true}})
	Emit(&in.sink, Planned{Subject: subject})
	if o := in.only(t); o.State != inspect.StateSettled || o.ResourceVersion != "1" || phasesOf(o)["e"] != inspect.PhaseDone {
		t.Errorf("%+v", o)
	}
}

func TestInspectedObject_CauseEndsIfItsChangeIsUndone(t *testing.T) {
	update := &handlers.Handler{ID: "u", Family: handlers.Update}
	in := newInspected(update)
	delay := time.Hour
	subject := podSubject("a", "1")
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonUpdate, Old: map[string]any{}}, map[string]handlers.Outcome{
		"u": {Err: errors.New("not yet"), Delay: &delay},
	})
	if o := in.only(t); o.State != inspect.StateRetrying {
		t.Errorf("%+v", o)
	}
	subject.Object = podObject("a", "2")
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonNoop, Old: map[string]any{}}, nil)
	o := in.only(t)
	if o.State != inspect.StateSettled || o.Cause.Reason != "noop" || o.Cause.Done.IsZero() || phasesOf(o)["u"] != inspect.PhaseOtherCause {
		t.Errorf("%+v", o)
	}
	if past := o.History; len(past) != 1 || past[0].Reason != "update" || past[0].SupersededAt != "2" {
		t.Errorf("%+v", past)
	}
}

// shared returns the registrations of one function under one id for several causes.
func shared(id string, families ...handlers.Family) []*handlers.Handler {
	fn := new(int)
	all := make([]*handlers.Handler, len(families))
	for i, family := range families {
		all[i] = &handlers.Handler{ID: id, Family: family, Fn: fn}
	}
	return all
}

func TestInspectedObject_FunctionOfSeveralCausesHasTheKindOfTheCause(t *testing.T) {
	in := newInspected(shared("f", handlers.Create, handlers.Update, handlers.Delete)...)
	all := []inspect.HandlerKind{inspect.KindCreate, inspect.KindUpdate, inspect.KindDelete}
	subject := podSubject("a", "1")
	for i, reason := range []handlers.Reason{handlers.ReasonCreate, handlers.ReasonUpdate, handlers.ReasonDelete} {
		subject.Object = podObject("a", string(rune('1'+i)))
		in.handle(subject, &handlers.Cause{Resource: &pods, Reason: reason}, map[string]handlers.Outcome{"f": {Final: true}})
		o := in.only(t)
		if len(o.Handlers) != 1 || o.Handlers[0].Kind != inspect.HandlerKind(reason) || o.Handlers[0].State != inspect.PhaseDone || !slices.Equal(o.Handlers[0].Kinds, all) {
			t.Errorf("%s: %+v", reason, o.Handlers)
		}
		Emit(&in.sink, Ended{Subject: subject, Finished: true, At: time.Now()})
	}
}

func TestInspectedObject_FailureOfFunctionOfSeveralCausesHasItsKind(t *testing.T) {
	in := newInspected(shared("f", handlers.Create, handlers.Update, handlers.Delete)...)
	subject := podSubject("a", "1")
	Emit(&in.sink, Planned{
		Subject: subject, Cause: &handlers.Cause{Resource: &pods, Reason: handlers.ReasonNoop}, Handlers: in.handlers(), Changing: true, At: time.Now(),
		Failures: []state.Failure{{Handler: "f", Purpose: "create", Message: "no"}},
	})
	if o := in.only(t); len(o.Handlers) != 1 || o.Handlers[0].State != inspect.PhaseFailed || o.Handlers[0].Kind != inspect.KindCreate {
		t.Errorf("%+v", o.Handlers)
	}
}

func TestInspectedObject_FunctionsWithOneIDAreApart(t *testing.T) {
	in := newInspected(append(shared("f", handlers.Create), shared("f", handlers.Delete)...)...)
	subject := podSubject("a", "1")
	for i, reason := range []handlers.Reason{handlers.ReasonCreate, handlers.ReasonDelete} {
		subject.Object = podObject("a", string(rune('1'+i)))
		in.handle(subject, &handlers.Cause{Resource: &pods, Reason: reason}, map[string]handlers.Outcome{"f": {Final: true}})
		for _, h := range in.only(t).Handlers {
			want := inspect.PhaseOtherCause
			if h.Kind == inspect.HandlerKind(reason) {
				want = inspect.PhaseDone
			}
			if h.State != want || h.Kinds != nil {
				t.Errorf("%s: %+v", reason, h)
			}
		}
		Emit(&in.sink, Ended{Subject: subject, Finished: true, At: time.Now()})
	}
}

func TestInspector_ObjectIsUnsettledUntilItsDuePassEnds(t *testing.T) {
	reconcile := &handlers.Handler{ID: "reconcile", Family: handlers.Reconcile}
	in := newInspected(reconcile)
	cause := &handlers.Cause{Resource: &pods}
	identity := &Identity{}
	plan := func(version string, due bool) *Subject {
		subject := podSubject("a", version)
		subject.Identity = identity
		Emit(&in.sink, Planned{Subject: subject, Cause: cause, Handlers: in.handlers(), At: time.Now(), PassDue: due})
		return subject
	}
	expect := func(version string, state inspect.ObjectState) {
		t.Helper()
		if o := in.only(t); o.ResourceVersion != version || o.State != state {
			t.Errorf("version %s is %s, want version %s to be %s", o.ResourceVersion, o.State, version, state)
		}
	}
	for i, end := range []struct {
		err   error
		state inspect.ObjectState
	}{{nil, inspect.StateSettled}, {errors.New("bad"), inspect.StateFailed}, {nil, inspect.StateSettled}} {
		version := strconv.Itoa(i + 1)
		subject := plan(version, true)
		expect(version, inspect.StateRunning)
		Emit(&in.sink, AttemptStarted{Subject: subject, Handler: reconcile})
		Emit(&in.sink, AttemptEnded{Subject: subject, Handler: reconcile, Began: time.Now(), Outcome: handlers.Outcome{Final: true, Err: end.err}, Err: end.err})
		expect(version, end.state)
		plan(version, false)
		expect(version, end.state)
	}
}

// TestInspector_ObjectInDeletionAwaitsNoPass deletes objects after the plan of their first pass, during a wait, and after the pass.
func TestInspector_ObjectInDeletionAwaitsNoPass(t *testing.T) {
	reconcile := &handlers.Handler{ID: "reconcile", Family: handlers.Reconcile}
	deleted := &inspect.Mismatch{Kind: inspect.MismatchDeleted, Path: "metadata.deletionTimestamp", Is: "present", Wants: "absent"}
	for name, test := range map[string]struct {
		pass *handlers.Outcome
		want inspect.HandlerPhase
		why  *inspect.Mismatch
	}{
		"no pass":          {nil, inspect.PhaseFiltered, deleted},
		"a pass waits":     {&handlers.Outcome{Waits: true, Err: errors.New("not ready")}, inspect.PhaseFiltered, deleted},
		"a pass succeeded": {&handlers.Outcome{Final: true}, inspect.PhaseDone, nil},
	} {
		// The operator keeps showing the last cause of an object that is held only by other finalizers.
		for _, reason := range []handlers.Reason{handlers.ReasonDelete, handlers.ReasonFree} {
			in := newInspected(reconcile)
			subject := podSubject("a", "1")
			in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}, nil)
			if test.pass != nil {
				Emit(&in.sink, AttemptStarted{Subject: subject, Handler: reconcile})
				Emit(&in.sink, AttemptEnded{Subject: subject, Handler: reconcile, Began: time.Now(), Outcome: *test.pass})
			}
			Emit(&in.sink, Ended{Subject: subject, Finished: true, At: time.Now()})
			subject.Object = podObject("a", "2")
			subject.Object.Deleting = true
			in.handle(subject, &handlers.Cause{Resource: &pods, Reason: reason, Deleted: true}, nil)
			if h := in.only(t).Handlers[0]; h.State != test.want || !reflect.DeepEqual(h.Why, test.why) || h.Error != nil {
				t.Errorf("%s, %s: the handler is %s, why: %+v", name, reason, h.State, h.Why)
			}
		}
	}
}
