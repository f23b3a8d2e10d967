package plan

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// fate is an object whose cycles a test takes as values: neither a server nor a clock takes part.
type fate struct {
	t       *testing.T
	served  *core.ServedResource
	text    string // JSON text of the object
	life    memory.Life
	handled *memory.HandledStates
	now     time.Time
	records state.ProgressStorage
}

func newFate(t *testing.T, text string, hs ...*handlers.Handler) *fate {
	registry := &handlers.Registry{}
	for _, h := range hs {
		h.Selector = resources.Selector{Core: true, Version: "v1", Name: "pods"}
		registry.Add(h)
	}
	pods := &resources.Resource{Version: "v1", Plural: "pods"}
	return &fate{t: t, served: core.NewServedResource(registry, pods, false), text: text, now: time.Unix(1e9, 0), records: state.NewSmartProgress()}
}

// edit merges a patch into the object, as the API server does.
func (f *fate) edit(p map[string]any) {
	f.t.Helper()
	tree, err := object.DecodeJSON([]byte(f.text))
	if err != nil {
		f.t.Fatal(err)
	}
	text, err := json.Marshal(patch.Merged(tree.(map[string]any), p))
	if err != nil {
		f.t.Fatal(err)
	}
	f.text = string(text)
}

// step is one cycle of an object.
type step struct {
	plan   Plan
	own    *patch.Patch
	view   *View
	s      *Situation
	called []string // due handlers, by their ids
}

// plan makes the plan of a cycle.
func (f *fate) plan(event string, requested *memory.RetryRequest, stopping ...time.Duration) *step {
	f.t.Helper()
	obj := parse(f.t, f.text)
	d := &core.Deps{Settings: &core.Settings{Progress: f.records, DiffBase: state.NewAnnotationsDiffBase()}}
	d.Failures = state.FailuresBeside(d.Settings.Progress)
	v, err := NewView(f.t.Context(), d, f.served.ExtraFields, obj, &outbox.Outbox{}, func(mark *state.BrokenMark) { f.t.Errorf("broken: %v", mark) })
	if err != nil {
		f.t.Fatal(err)
	}
	one := &step{own: patch.NewPatch(), view: v, s: &Situation{
		Served: f.served, Object: obj, Event: event, Finalizer: "kopf.dev/marker", Life: f.life, Requested: requested, Now: f.now,
	}}
	if one.plan, err = Detect(f.t.Context(), one.s, v); err != nil {
		f.t.Fatal(err)
	}
	one.s.Stopping = stopping
	if err := one.plan.Decide(one.s, v, one.own); err != nil {
		f.t.Fatal(err)
	}
	for _, d := range Due(one.plan.Selected, one.plan.Progress, requested, f.now, func(*handlers.Handler) bool { return true }) {
		one.called = append(one.called, d.ID)
	}
	return one
}

// record records the outcomes of a cycle, and merges the records into the object.
func (f *fate) record(one *step, byID map[string]handlers.Outcome) Record {
	f.t.Helper()
	out := Outcomes{ByID: byID}
	for id, outcome := range byID {
		if outcome.Final {
			out.Final = append(out.Final, id)
		}
	}
	r, err := one.plan.Record(one.s, one.view, &out, f.handled, one.own)
	if err != nil {
		f.t.Fatal(err)
	}
	f.handled, f.life.Unfinished, f.life.DeletionHandled = r.Handled, r.Unfinished, r.DeletionHandled
	f.life.Resumed = f.life.Resumed || r.Finished
	f.edit(one.own.Tree())
	for _, fn := range one.own.Fns() {
		tree, err := object.DecodeJSON([]byte(f.text))
		if err == nil {
			err = fn(tree.(map[string]any))
		}
		if err != nil {
			f.t.Fatal(err)
		}
		text, _ := json.Marshal(tree)
		f.text = string(text)
	}
	return r
}

// handle runs a cycle in which all due handlers succeed.
func (f *fate) handle(event string) {
	f.t.Helper()
	one := f.plan(event, nil)
	outcomes := map[string]handlers.Outcome{}
	for _, id := range one.called {
		outcomes[id] = success
	}
	f.record(one, outcomes)
}

var (
	minute  = time.Minute
	success = handlers.Outcome{Final: true}
	failure = handlers.Outcome{Final: true, Err: errors.New("it never succeeds")}
	retry   = handlers.Outcome{Delay: &minute, Err: errors.New("not yet")}
)

const born = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","uid":"u","resourceVersion":"1"},"spec":{"f":1}}`

func handlerOfFamily(id string, family handlers.Family) *handlers.Handler {
	return &handlers.Handler{ID: id, Family: family}
}

func TestPlan_ByTheObjectAndTheEvent(t *testing.T) {
	type want struct {
		reason handlers.Reason
		hold   Hold
		called []string
	}
	deletion := map[string]any{"metadata": map[string]any{"deletionTimestamp": "2020-01-01T00:00:00Z"}}
	change := map[string]any{"spec": map[string]any{"f": 2}}
	create, update := handlerOfFamily("create", handlers.Create), handlerOfFamily("update", handlers.Update)
	for name, test := range map[string]struct {
		handlers []*handlers.Handler
		live     func(*fate) // the cycles before; nil if there were none
		event    string
		want     want
	}{
		"a new object": {[]*handlers.Handler{create, update}, nil, watch.Added, want{reason: handlers.ReasonCreate, called: []string{"create"}}},
		"a handled object": {[]*handlers.Handler{create, update}, func(f *fate) { f.handle(watch.Added) }, watch.Modified,
			want{reason: handlers.ReasonNoop}},
		"a changed object": {[]*handlers.Handler{create, update}, func(f *fate) { f.handle(watch.Added); f.edit(change) }, watch.Modified,
			want{reason: handlers.ReasonUpdate, called: []string{"update"}}},
		"an object that was there before the operator": {[]*handlers.Handler{create, handlerOfFamily("resume", handlers.Resume)},
			func(f *fate) { f.handle(watch.Added); f.life = memory.Life{Listed: true} }, watch.Listed,
			want{reason: handlers.ReasonResume, called: []string{"resume"}}},
		"an object of no interest": {[]*handlers.Handler{{ID: "labelled", Family: handlers.Create, Labels: map[string]handlers.Criterion{"a": handlers.EqualStringCriterion("b")}}},
			nil, watch.Added, want{reason: handlers.ReasonCreate, hold: HoldUninvolved}},
		"deletion handlers": {[]*handlers.Handler{create, handlerOfFamily("delete", handlers.Delete)}, nil, watch.Added,
			want{reason: handlers.ReasonCreate, hold: HoldAdding}},
		"a finalizer that nothing requires": {[]*handlers.Handler{create}, func(f *fate) {
			f.edit(map[string]any{"metadata": map[string]any{"finalizers": []any{"kopf.dev/marker"}}})
		}, watch.Added, want{reason: handlers.ReasonCreate, hold: HoldRemoving}},
		"a deletion": {[]*handlers.Handler{create, handlerOfFamily("delete", handlers.Delete)},
			func(f *fate) { f.handle(watch.Added); f.edit(deletion) }, watch.Modified,
			want{reason: handlers.ReasonDelete, called: []string{"delete"}}},
		"a deletion that other finalizers hold": {[]*handlers.Handler{create, handlerOfFamily("delete", handlers.Delete)},
			func(f *fate) { f.edit(deletion) }, watch.Modified, want{reason: handlers.ReasonFree}},
		"a deletion that is handled": {[]*handlers.Handler{create, handlerOfFamily("delete", handlers.Delete)},
			func(f *fate) { f.handle(watch.Added); f.edit(deletion); f.life.DeletionHandled = true }, watch.Modified,
			want{reason: handlers.ReasonDelete, hold: HoldDeletionEnd}},
		"an object that is gone": {[]*handlers.Handler{create}, func(f *fate) { f.handle(watch.Added) }, watch.Deleted,
			want{reason: handlers.ReasonGone}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFate(t, born, test.handlers...)
			if test.live != nil {
				test.live(f)
			}
			p := f.plan(test.event, nil)
			got := want{p.plan.Cause.Reason, p.plan.Hold, p.called}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("planned %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestPlan_RequestCallsDelayedAndFailedHandlers(t *testing.T) {
	f := newFate(t, born, handlerOfFamily("good", handlers.Create), handlerOfFamily("bad", handlers.Create))
	f.record(f.plan(watch.Added, nil), map[string]handlers.Outcome{"good": success, "bad": retry})
	if one := f.plan(watch.Modified, nil); one.called != nil {
		t.Errorf("called before its time: %v", one.called)
	}
	if one := f.plan(watch.Modified, memory.NewRetryRequest("bad")); !slices.Equal(one.called, []string{"bad"}) {
		t.Errorf("called on request: %v", one.called)
	}
	f.now = f.now.Add(time.Minute)
	f.record(f.plan(watch.Modified, nil), map[string]handlers.Outcome{"bad": failure})
	one := f.plan(watch.Modified, nil)
	if one.called != nil || len(one.plan.Failures) != 1 || one.plan.Recall != nil {
		t.Errorf("called %v again without a request, after %v", one.called, one.plan.Failures)
	}
	one = f.plan(watch.Modified, memory.NewRetryRequest(""))
	if one.plan.Cause.Reason != handlers.ReasonCreate || !slices.Equal(one.called, []string{"bad"}) || !slices.Equal(one.plan.Recall.IDs(), []string{"bad"}) {
		t.Errorf("planned %v of %v", one.called, one.plan.Cause.Reason)
	}
	if r := f.record(one, map[string]handlers.Outcome{"bad": success}); !r.Finished || r.Failures != nil {
		t.Errorf("recorded %+v", r)
	}
	if one := f.plan(watch.Modified, memory.NewRetryRequest("")); one.called != nil || one.plan.Failures != nil {
		t.Errorf("called %v again after its success", one.called)
	}
}

func TestRecord_ByTheOutcomes(t *testing.T) {
	a, b := handlerOfFamily("a", handlers.Create), handlerOfFamily("b", handlers.Create)
	for name, test := range map[string]struct {
		outcomes map[string]handlers.Outcome
		finished bool
		delays   []time.Duration
		failed   []string
	}{
		"all succeed":        {map[string]handlers.Outcome{"a": success, "b": success}, true, nil, nil},
		"one is retried":     {map[string]handlers.Outcome{"a": success, "b": retry}, false, []time.Duration{time.Minute}, nil},
		"one was not called": {map[string]handlers.Outcome{"a": success}, false, []time.Duration{0}, nil},
		"one fails for good": {map[string]handlers.Outcome{"a": success, "b": failure}, true, nil, []string{"b"}},
		"none was called":    {map[string]handlers.Outcome{}, false, []time.Duration{0, 0}, nil},
	} {
		f := newFate(t, born, a, b)
		r := f.record(f.plan(watch.Added, nil), test.outcomes)
		var failed []string
		for _, one := range r.Failures {
			failed = append(failed, one.Handler)
		}
		if r.Finished != test.finished || r.Unfinished == test.finished || !slices.Equal(r.Delays, test.delays) || !slices.Equal(failed, test.failed) {
			t.Errorf("%s: %+v, failed %v", name, r, failed)
		}
		next := f.plan(watch.Modified, nil)
		if next.plan.Cause.Reason == handlers.ReasonNoop != test.finished {
			t.Errorf("%s: the next cause is %s", name, next.plan.Cause.Reason)
		}
	}
}

func TestRecord_DeletionReleasesTheObjectWhenAllIsDone(t *testing.T) {
	for name, test := range map[string]struct {
		keep     bool
		outcome  handlers.Outcome
		stopping []time.Duration
		released bool
		ended    bool
	}{
		"the handler succeeds":               {false, success, nil, true, true},
		"the handler is retried":             {false, retry, nil, false, false},
		"the handler fails":                  {false, failure, nil, true, true},
		"the handler must succeed and fails": {true, failure, nil, false, false},
		"a daemon is stopping":               {false, success, []time.Duration{time.Second}, false, true},
	} {
		h := handlerOfFamily("delete", handlers.Delete)
		h.KeepOnFailure = test.keep
		f := newFate(t, born, h)
		f.handle(watch.Added)
		f.edit(map[string]any{"metadata": map[string]any{"deletionTimestamp": "2020-01-01T00:00:00Z"}})
		r := f.record(f.plan(watch.Modified, nil, test.stopping...), map[string]handlers.Outcome{"delete": test.outcome})
		if r.Released != test.released || r.DeletionHandled != test.ended || (r.Keeper != nil) != test.keep {
			t.Errorf("%s: %+v", name, r)
		}
		tree := f.plan(watch.Modified, nil).view.Tree
		if state.HasFinalizer(tree, "kopf.dev/marker") == test.released {
			t.Errorf("%s: the object has %v", name, object.Metadata(tree)["finalizers"])
		}
	}
}

func TestRecord_DeletionAwaitsChildrenElsewhere(t *testing.T) {
	for name, test := range map[string]struct {
		outcome  handlers.Outcome
		stopping []time.Duration
		labels   map[string]handlers.Criterion
		awaits   bool
	}{
		"the handler succeeds":     {success, nil, nil, true},
		"the handler is retried":   {retry, nil, nil, false},
		"a daemon is stopping":     {success, []time.Duration{time.Second}, nil, false},
		"the filters do not match": {success, nil, map[string]handlers.Criterion{"a": handlers.Present}, true},
	} {
		h, keeper := handlerOfFamily("delete", handlers.Delete), handlerOfFamily("reconcile", handlers.Reconcile)
		keeper.Owns, keeper.Labels = []handlers.Owned{{Elsewhere: true}}, test.labels
		f := newFate(t, born, h, keeper)
		f.handle(watch.Added)
		f.edit(map[string]any{"metadata": map[string]any{"deletionTimestamp": "2020-01-01T00:00:00Z"}})
		one := f.plan(watch.Modified, nil, test.stopping...)
		r := f.record(one, map[string]handlers.Outcome{"delete": test.outcome})
		if r.Released || r.AwaitsChildren != test.awaits {
			t.Errorf("%s: %+v", name, r)
		}
		if tree := f.plan(watch.Modified, nil).view.Tree; !state.HasFinalizer(tree, "kopf.dev/marker") {
			t.Errorf("%s: the object has %v", name, object.Metadata(tree)["finalizers"])
		}
	}
}

func TestRecord_FinalizerStaysForChildrenElsewhere(t *testing.T) {
	keeper := handlerOfFamily("reconcile", handlers.Reconcile)
	keeper.Owns, keeper.Labels = []handlers.Owned{{Elsewhere: true}}, map[string]handlers.Criterion{"a": handlers.Present}
	f := newFate(t, born, keeper)
	if one := f.plan(watch.Added, nil); one.plan.Hold.ForVersion() {
		t.Errorf("an object that the filters exclude: %v", one.plan.Hold)
	}
	f.edit(map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "1"}}})
	f.handle(watch.Modified)
	f.edit(map[string]any{"metadata": map[string]any{"labels": nil}})
	if one := f.plan(watch.Modified, nil); !one.plan.Blocked || one.plan.Hold.ForVersion() {
		t.Errorf("an object that the filters exclude later: blocked %v, %v", one.plan.Blocked, one.plan.Hold)
	}
}

func TestRecord_ChangeDuringARetryBecomesAnUpdate(t *testing.T) {
	f := newFate(t, born, handlerOfFamily("quick", handlers.Create), handlerOfFamily("slow", handlers.Create), handlerOfFamily("update", handlers.Update))
	f.record(f.plan(watch.Added, nil), map[string]handlers.Outcome{"quick": success, "slow": retry})
	f.edit(map[string]any{"spec": map[string]any{"f": 2}})
	f.now = f.now.Add(time.Minute)
	if r := f.record(f.plan(watch.Modified, nil), map[string]handlers.Outcome{"slow": success}); !r.Finished || !r.Behind {
		t.Errorf("recorded %+v", r)
	}
	one := f.plan(watch.Modified, nil)
	if one.plan.Cause.Reason != handlers.ReasonUpdate || !slices.Equal(one.called, []string{"update"}) {
		t.Errorf("%s calls %v", one.plan.Cause.Reason, one.called)
	}
}

// A process with an old version of the object can leave the record of an earlier cause beside the records of the current one.
func TestRecord_SupersededCauseLeavesTheSelectedHandlersDone(t *testing.T) {
	f := handled(t, handlerOfFamily("create", handlers.Create), handlerOfFamily("done", handlers.Update), handlerOfFamily("slow", handlers.Update))
	f.edit(spec(2))
	f.record(f.plan(watch.Modified, nil), map[string]handlers.Outcome{"done": success, "slow": retry})
	const old = `{"started":"2026-01-01T00:00:00.000000+00:00","purpose":"create","retries":1,"success":true,"failure":false}`
	f.edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/create": old}}})
	f.now = f.now.Add(time.Hour)
	one := f.plan(watch.Modified, nil)
	if one.plan.Superseded["create"].Success != 1 {
		t.Errorf("superseded: %v", one.plan.Superseded)
	}
	f.record(one, outcomes("slow", retry))
	if f.annotation("kopf.zalando.org/create") != nil {
		t.Error("the record of the earlier cause is left")
	}
	done, _ := f.plan(watch.Modified, nil).plan.Progress.Handler("done")
	if !done.Record.Success {
		t.Errorf("the handler is called again: %s", f.text)
	}
}

func TestRecord_RevertedChangeEndsItsCause(t *testing.T) {
	f := newFate(t, born, handlerOfFamily("create", handlers.Create), handlerOfFamily("update", handlers.Update))
	f.handle(watch.Added)
	f.edit(map[string]any{"spec": map[string]any{"f": 2}})
	f.record(f.plan(watch.Modified, nil), map[string]handlers.Outcome{"update": retry})
	f.edit(map[string]any{"spec": map[string]any{"f": 1}})
	one := f.plan(watch.Modified, nil)
	if r := f.record(one, nil); one.plan.Cause.Reason != handlers.ReasonNoop || !r.Finished || r.Unfinished || r.Behind {
		t.Errorf("%s: %+v", one.plan.Cause.Reason, r)
	}
	if _, found := object.Annotations(f.plan(watch.Modified, nil).view.Tree)["kopf.zalando.org/update"]; found {
		t.Error("the progress of the reverted change is left")
	}
}

// A storage of the user hides whether there are records.
func TestRecord_RevertedChangeEndsItsCauseInLaterTerm(t *testing.T) {
	f := newFate(t, born, handlerOfFamily("create", handlers.Create), handlerOfFamily("done", handlers.Update), handlerOfFamily("slow", handlers.Update))
	f.records = struct{ state.ProgressStorage }{f.records}
	f.handle(watch.Added)
	f.edit(map[string]any{"spec": map[string]any{"f": 2}})
	f.record(f.plan(watch.Modified, nil), map[string]handlers.Outcome{"done": success, "slow": retry})
	f.handled, f.life.Shared = nil, true
	f.edit(map[string]any{"spec": map[string]any{"f": 1}})
	one := f.plan(watch.Modified, nil)
	if !one.plan.UsesForeign(one.s, one.view) {
		t.Error("the records are removed without a comparison")
	}
	f.record(one, nil)
	f.edit(map[string]any{"spec": map[string]any{"f": 3}})
	if called := f.plan(watch.Modified, nil).called; !slices.Equal(called, []string{"done", "slow"}) {
		t.Errorf("called: %q", called)
	}
}

func TestUsesForeign_OnlyRecordsOfOtherProcesses(t *testing.T) {
	f := newFate(t, born, handlerOfFamily("create", handlers.Create), handlerOfFamily("update", handlers.Update), handlerOfFamily("delete", handlers.Delete))
	f.edit(map[string]any{"metadata": map[string]any{"finalizers": []any{"kopf.dev/marker"}}})
	check := func(when string, want bool) {
		t.Helper()
		if one := f.plan(watch.Modified, nil); one.plan.UsesForeign(one.s, one.view) != want {
			t.Errorf("%s: %t, want %t", when, !want, want)
		}
	}
	f.handle(watch.Added)
	check("without records", false)
	f.edit(map[string]any{"spec": map[string]any{"f": 2}})
	f.record(f.plan(watch.Modified, nil), map[string]handlers.Outcome{"update": retry})
	own := f.life
	other := own
	other.Unfinished = false
	f.life = other
	check("unfinished update", true)
	f.edit(map[string]any{"metadata": map[string]any{"deletionTimestamp": "2020-01-01T00:00:00Z"}})
	check("superseded by a deletion", true)
	f.life = own
	check("superseded by a deletion, with own records", false)
	f.life.Shared = true
	check("superseded by a deletion, after another process", true)
	f.life = own
	f.edit(map[string]any{"metadata": map[string]any{"deletionTimestamp": nil}, "spec": map[string]any{"f": 1}})
	check("reverted, with own records", false)
	f.life = other
	check("reverted", true)
	f.life.Listed, f.life.Resumed = true, false
	check("superseded by resuming", true)
	if one := f.plan(watch.Deleted, nil); one.plan.UsesForeign(one.s, one.view) {
		t.Error("the records of a deleted object are used")
	}
	f.edit(map[string]any{"metadata": map[string]any{"deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": []any{"other"}}})
	check("held by another finalizer", false)
}

// After a restart, an unfinished handler waits for a slot.
func TestUsesForeign_WaitingHandlerNeedsOneComparison(t *testing.T) {
	f := newFate(t, born, handlerOfFamily("create", handlers.Create))
	f.record(f.plan(watch.Added, nil), map[string]handlers.Outcome{"create": retry})
	f.life.Unfinished = false
	for _, want := range []bool{true, false} {
		one := f.plan(watch.Modified, nil)
		if got := one.plan.UsesForeign(one.s, one.view); got != want {
			t.Errorf("compared: %t", got)
		}
		r, err := one.plan.Record(one.s, one.view, &Outcomes{Parked: []string{"create"}}, f.handled, one.own)
		if err != nil {
			t.Fatal(err)
		}
		f.life.Unfinished = r.Unfinished
	}
}

// parse returns an object of its JSON text.
func parse(t *testing.T, text string) *object.Object {
	t.Helper()
	obj, err := object.Parse([]byte(text), object.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return obj
}
