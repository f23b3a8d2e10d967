package engine

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

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
	served  *servedResource
	text    string // JSON text of the object
	life    life
	handled *handledStates
	now     time.Time
}

func newFate(t *testing.T, text string, hs ...*handlers.Handler) *fate {
	registry := &handlers.Registry{}
	for _, h := range hs {
		h.Selector = resources.Selector{Core: true, Version: "v1", Name: "pods"}
		registry.Add(h)
	}
	pods := &resources.Resource{Version: "v1", Plural: "pods"}
	return &fate{t: t, served: newServedResource(registry, pods, false), text: text, now: time.Unix(1e9, 0)}
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
	plan   plan
	own    *patch.Patch
	view   *view
	s      *situation
	called []string // due handlers, by their ids
}

// plan makes the plan of a cycle.
func (f *fate) plan(event string, requested *retryRequest, stopping ...time.Duration) *step {
	f.t.Helper()
	obj := parse(f.t, f.text)
	d := &deps{settings: &Settings{Progress: state.NewSmartProgress(), DiffBase: state.NewAnnotationsDiffBase()}}
	d.failures = state.FailuresBeside(d.settings.Progress)
	v, err := newView(f.t.Context(), d, f.served.extraFields, obj, &outbox{}, func(mark *state.BrokenMark) { f.t.Errorf("broken: %v", mark) })
	if err != nil {
		f.t.Fatal(err)
	}
	one := &step{own: patch.NewPatch(), view: v, s: &situation{
		served: f.served, object: obj, event: event, finalizer: "kopf.dev/marker", life: f.life, requested: requested, now: f.now,
	}}
	if one.plan, err = detect(f.t.Context(), one.s, v); err != nil {
		f.t.Fatal(err)
	}
	one.s.stopping = stopping
	if err := one.plan.decide(one.s, v, one.own); err != nil {
		f.t.Fatal(err)
	}
	for _, d := range due(one.plan.selected, one.plan.progress, requested, f.now) {
		one.called = append(one.called, d.ID)
	}
	return one
}

// record records the outcomes of a cycle, and merges the records into the object.
func (f *fate) record(one *step, byID map[string]handlers.Outcome) record {
	f.t.Helper()
	out := outcomes{byID: byID}
	for id, outcome := range byID {
		if outcome.Final {
			out.final = append(out.final, id)
		}
	}
	r, err := one.plan.record(one.s, one.view, &out, f.handled, one.own)
	if err != nil {
		f.t.Fatal(err)
	}
	f.handled, f.life.unfinished, f.life.deletionHandled = r.handled, r.unfinished, r.deletionHandled
	f.life.resumed = f.life.resumed || r.finished
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

// handle takes a cycle in which all handlers that are due succeed.
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
		reason    handlers.Reason
		hold      hold
		finalizer finalizerChange
		called    []string
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
			func(f *fate) { f.handle(watch.Added); f.life = life{listed: true} }, watch.Listed,
			want{reason: handlers.ReasonResume, called: []string{"resume"}}},
		"an object of no interest": {[]*handlers.Handler{{ID: "labelled", Family: handlers.Create, Labels: map[string]handlers.Criterion{"a": handlers.EqualStringCriterion("b")}}},
			nil, watch.Added, want{reason: handlers.ReasonCreate, hold: holdUninvolved}},
		"deletion handlers": {[]*handlers.Handler{create, handlerOfFamily("delete", handlers.Delete)}, nil, watch.Added,
			want{reason: handlers.ReasonCreate, hold: holdFinalizer, finalizer: finalizerAdded}},
		"a finalizer that nothing requires": {[]*handlers.Handler{create}, func(f *fate) {
			f.edit(map[string]any{"metadata": map[string]any{"finalizers": []any{"kopf.dev/marker"}}})
		}, watch.Added, want{reason: handlers.ReasonCreate, hold: holdFinalizer, finalizer: finalizerRemoved}},
		"a deletion": {[]*handlers.Handler{create, handlerOfFamily("delete", handlers.Delete)},
			func(f *fate) { f.handle(watch.Added); f.edit(deletion) }, watch.Modified,
			want{reason: handlers.ReasonDelete, called: []string{"delete"}}},
		"a deletion that other finalizers hold": {[]*handlers.Handler{create, handlerOfFamily("delete", handlers.Delete)},
			func(f *fate) { f.edit(deletion) }, watch.Modified, want{reason: handlers.ReasonFree}},
		"a deletion that is handled": {[]*handlers.Handler{create, handlerOfFamily("delete", handlers.Delete)},
			func(f *fate) { f.handle(watch.Added); f.edit(deletion); f.life.deletionHandled = true }, watch.Modified,
			want{reason: handlers.ReasonDelete, hold: holdDeletionEnd}},
		"an object that is gone": {[]*handlers.Handler{create}, func(f *fate) { f.handle(watch.Added) }, watch.Deleted,
			want{reason: handlers.ReasonGone}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFate(t, born, test.handlers...)
			if test.live != nil {
				test.live(f)
			}
			p := f.plan(test.event, nil)
			got := want{p.plan.cause.Reason, p.plan.hold, p.plan.finalizer, p.called}
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
	if one := f.plan(watch.Modified, newRetryRequest("bad")); !slices.Equal(one.called, []string{"bad"}) {
		t.Errorf("called on request: %v", one.called)
	}
	f.now = f.now.Add(time.Minute)
	f.record(f.plan(watch.Modified, nil), map[string]handlers.Outcome{"bad": failure})
	one := f.plan(watch.Modified, nil)
	if one.called != nil || len(one.plan.failures) != 1 || one.plan.recall != nil {
		t.Errorf("called %v again without a request, after %v", one.called, one.plan.failures)
	}
	one = f.plan(watch.Modified, newRetryRequest(""))
	if one.plan.cause.Reason != handlers.ReasonCreate || !slices.Equal(one.called, []string{"bad"}) || !slices.Equal(one.plan.recall.ids(), []string{"bad"}) {
		t.Errorf("planned %v of %v", one.called, one.plan.cause.Reason)
	}
	if r := f.record(one, map[string]handlers.Outcome{"bad": success}); !r.finished || r.failures != nil {
		t.Errorf("recorded %+v", r)
	}
	if one := f.plan(watch.Modified, newRetryRequest("")); one.called != nil || one.plan.failures != nil {
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
		for _, one := range r.failures {
			failed = append(failed, one.Handler)
		}
		if r.finished != test.finished || r.unfinished == test.finished || !slices.Equal(r.delays, test.delays) || !slices.Equal(failed, test.failed) {
			t.Errorf("%s: %+v, failed %v", name, r, failed)
		}
		next := f.plan(watch.Modified, nil)
		if next.plan.cause.Reason == handlers.ReasonNoop != test.finished {
			t.Errorf("%s: the next cause is %s", name, next.plan.cause.Reason)
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
		if r.released != test.released || r.deletionHandled != test.ended || (r.keeper != nil) != test.keep {
			t.Errorf("%s: %+v", name, r)
		}
		tree := f.plan(watch.Modified, nil).view.tree
		if state.HasFinalizer(tree, "kopf.dev/marker") == test.released {
			t.Errorf("%s: the object has %v", name, object.Metadata(tree)["finalizers"])
		}
	}
}

func TestRecord_ChangeDuringARetryBecomesAnUpdate(t *testing.T) {
	f := newFate(t, born, handlerOfFamily("quick", handlers.Create), handlerOfFamily("slow", handlers.Create), handlerOfFamily("update", handlers.Update))
	f.record(f.plan(watch.Added, nil), map[string]handlers.Outcome{"quick": success, "slow": retry})
	f.edit(map[string]any{"spec": map[string]any{"f": 2}})
	f.now = f.now.Add(time.Minute)
	if r := f.record(f.plan(watch.Modified, nil), map[string]handlers.Outcome{"slow": success}); !r.finished || !r.behind {
		t.Errorf("recorded %+v", r)
	}
	one := f.plan(watch.Modified, nil)
	if one.plan.cause.Reason != handlers.ReasonUpdate || !slices.Equal(one.called, []string{"update"}) {
		t.Errorf("%s calls %v", one.plan.cause.Reason, one.called)
	}
}

func TestRecord_RevertedChangeEndsItsCause(t *testing.T) {
	f := newFate(t, born, handlerOfFamily("create", handlers.Create), handlerOfFamily("update", handlers.Update))
	f.handle(watch.Added)
	f.edit(map[string]any{"spec": map[string]any{"f": 2}})
	f.record(f.plan(watch.Modified, nil), map[string]handlers.Outcome{"update": retry})
	f.edit(map[string]any{"spec": map[string]any{"f": 1}})
	one := f.plan(watch.Modified, nil)
	if r := f.record(one, nil); one.plan.cause.Reason != handlers.ReasonNoop || !r.finished || r.unfinished || r.behind {
		t.Errorf("%s: %+v", one.plan.cause.Reason, r)
	}
	if _, found := object.Annotations(f.plan(watch.Modified, nil).view.tree)["kopf.zalando.org/update"]; found {
		t.Error("the progress of the reverted change is left")
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
