package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

const versionsOfHandlers = "kopf.zalando.org/handler-versions"

func versioned(id string, family handlers.Family, version string) *handlers.Handler {
	UseVersions()
	return &handlers.Handler{ID: id, Family: family, Version: version}
}

// mark marks the object for a version of a handler; the empty version removes the mark.
func (f *fate) mark(id, version string) {
	f.t.Helper()
	var mark any
	if version != "" {
		mark = fmt.Sprintf(`{"handler":%q,"version":%q,"uid":"u"}`, id, version)
	}
	f.edit(map[string]any{"metadata": map[string]any{"annotations": map[string]any{state.Versions{Prefix: "kopf.zalando.org"}.MarkKey(id, nil): mark}}})
}

func (f *fate) isMarked() bool { return strings.Contains(f.text, "/rehandle-handler.") }

// cycle runs a cycle with the outcome of each called handler, and returns the ids of the handlers.
func (f *fate) cycle(outcome handlers.Outcome) []string {
	f.t.Helper()
	f.now = f.now.Add(2 * minute)
	one := f.plan(watch.Modified, nil)
	byID := map[string]handlers.Outcome{}
	for _, id := range one.called {
		byID[id] = outcome
	}
	f.record(one, byID)
	return one.called
}

// upgrade replaces the handlers, as a new build does.
func (f *fate) upgrade(hs ...*handlers.Handler) {
	other := newFate(f.t, f.text, hs...)
	f.served, f.handled, f.life = other.served, nil, other.life
}

func (f *fate) wantCalls(outcome handlers.Outcome, want ...string) {
	f.t.Helper()
	if called := f.cycle(outcome); !slices.Equal(called, want) {
		f.t.Errorf("%v are called instead of %v: %s", called, want, f.text)
	}
}

func TestRehandle_OnlyMarkedHandlersAreCalledOnce(t *testing.T) {
	f := handled(t, versioned("create", handlers.Create, ""), versioned("update", handlers.Update, ""))
	if f.annotation(versionsOfHandlers) != nil {
		t.Errorf("an operator without versions stores one: %s", f.text)
	}
	before := f.text
	f.upgrade(versioned("create", handlers.Create, "2"), versioned("update", handlers.Update, "2"))
	f.wantCalls(success)
	if f.text != before {
		t.Errorf("an object without a mark is changed: %s", f.text)
	}
	lastHandled := f.annotation("kopf.zalando.org/last-handled-configuration")
	f.mark("create", "2")
	f.wantCalls(success, "create")
	if got := f.annotation(versionsOfHandlers); got != `{"versions":{"create":"2"}}` || f.isMarked() {
		t.Errorf("the handling leaves %s", f.text)
	}
	if got := f.annotation("kopf.zalando.org/last-handled-configuration"); got != lastHandled {
		t.Errorf("the last-handled state becomes %v", got)
	}
	f.wantCalls(success)
	f.mark("create", "2") // by a command that has listed the object before
	f.wantCalls(success)
	if f.isMarked() {
		t.Errorf("the mark of a handled object stays: %s", f.text)
	}
}

func TestRehandle_CauseFollowsFromTheHandler(t *testing.T) {
	field := versioned("field/spec.f", handlers.Field, "2")
	field.Field = []string{"spec", "f"}
	updates := versioned("updates/spec.f", handlers.Field, "2")
	updates.Field, updates.Reasons = []string{"spec", "f"}, []handlers.Reason{handlers.ReasonUpdate}
	for _, test := range []struct {
		handler *handlers.Handler
		reason  handlers.Reason
		old     bool
	}{
		{versioned("create", handlers.Create, "2"), handlers.ReasonCreate, false},
		{versioned("update", handlers.Update, "2"), handlers.ReasonUpdate, true},
		{versioned("resume", handlers.Resume, "2"), handlers.ReasonResume, true},
		{field, handlers.ReasonCreate, false},
		{updates, handlers.ReasonUpdate, true},
	} {
		f := handled(t, versioned("other", handlers.Create, ""))
		f.upgrade(test.handler)
		f.mark(test.handler.ID, "2")
		one := f.plan(watch.Modified, nil)
		cause := one.plan.Cause
		if !slices.Equal(one.called, []string{test.handler.ID}) || cause.Reason != test.reason || !cause.Again || (cause.Old != nil) != test.old || test.old && len(cause.Diff) > 0 {
			t.Errorf("%s: %v are called for %s, old %v, diff %v", test.handler.ID, one.called, cause.Reason, cause.Old, cause.Diff)
		}
	}
}

func TestRehandle_MarkStaysUntilTheHandlerIsDone(t *testing.T) {
	create := versioned("create", handlers.Create, "2")
	f := handled(t, versioned("create", handlers.Create, ""))
	f.upgrade(create)
	f.mark("create", "2")
	f.wantCalls(retry, "create")
	f.upgrade(create) // a restart
	f.wantCalls(retry, "create")
	if !f.isMarked() || !strings.Contains(f.text, `\"retries\":2`) {
		t.Errorf("the next process does not continue: %s", f.text)
	}
	f.wantCalls(failure, "create")
	if f.isMarked() || f.annotation(versionsOfHandlers) != nil || !strings.Contains(f.text, `\"version\":\"2\"`) {
		t.Errorf("the failure leaves %s", f.text)
	}
	f.wantCalls(success)
	f.edit(spec(2)) // forgets the failure
	f.wantCalls(success)
	f.mark("create", "2")
	f.wantCalls(retry, "create")
	f.mark("create", "") // withdrawn during the retries
	f.wantCalls(success)
	if strings.Contains(f.text, "retries") {
		t.Errorf("the progress stays: %s", f.text)
	}
}

func TestRehandle_RetriedFailureStoresTheVersion(t *testing.T) {
	f := handled(t, versioned("update", handlers.Update, ""))
	f.upgrade(versioned("update", handlers.Update, "2"))
	f.mark("update", "2")
	f.wantCalls(failure, "update")
	one := f.plan(watch.Modified, memory.NewRetryRequest(""))
	if !one.plan.Cause.Again {
		t.Error("the retry is not regarded as rehandling")
	}
	if !slices.Equal(one.called, []string{"update"}) || len(one.plan.Cause.Diff) > 0 {
		t.Fatalf("%v are called, for the diff %v", one.called, one.plan.Cause.Diff)
	}
	f.record(one, outcomes("update", success))
	if got := f.annotation(versionsOfHandlers); got != `{"versions":{"update":"2"}}` || strings.Contains(f.text, "failed-handler") {
		t.Errorf("the retry leaves %s", f.text)
	}
}

func TestRehandle_OtherFailuresAreRetriedSeparately(t *testing.T) {
	for _, rehandled := range []string{"a", "b"} {
		version := func(id string) string {
			if id == rehandled {
				return "2"
			}
			return ""
		}
		f := newFate(t, born, versioned("a", handlers.Create, ""), versioned("b", handlers.Create, ""))
		created := map[string]handlers.Outcome{"a": failure, "b": failure}
		created[rehandled] = success
		f.record(f.plan(watch.Modified, nil), created)
		f.upgrade(versioned("a", handlers.Create, version("a")), versioned("b", handlers.Create, version("b")))
		f.mark(rehandled, "2")
		f.wantCalls(failure, rehandled)
		request := memory.NewRetryRequest("")
		for _, id := range []string{"a", "b"} {
			one := f.plan(watch.Modified, request)
			if cause := one.plan.Cause; !slices.Equal(one.called, []string{id}) || cause.Again != (id == rehandled) || cause.Reason != handlers.ReasonCreate {
				t.Errorf("%s is rehandled: %v are called for %s instead of %s, rehandled %t", rehandled, one.called, cause.Reason, id, cause.Again)
			}
			f.record(one, outcomes(id, success))
			request = nil
		}
		f.wantCalls(success)
		if strings.Contains(f.text, "failed-handler") || f.annotation(versionsOfHandlers) != `{"versions":{"`+rehandled+`":"2"}}` {
			t.Errorf("%s is rehandled: the retries leave %s", rehandled, f.text)
		}
	}
}

func TestRehandle_ChangesComeFirst(t *testing.T) {
	f := handled(t, versioned("fn", handlers.Update, ""), versioned("other", handlers.Create, ""))
	f.upgrade(versioned("fn", handlers.Update, "2"), versioned("other", handlers.Create, "2"))
	f.mark("fn", "2")
	f.mark("other", "2")
	f.edit(spec(2))
	one := f.plan(watch.Modified, nil)
	r := f.record(one, outcomes("fn", success)) // for the change
	if how := next(one, &r); how != WaitNothing || !slices.Equal(one.called, []string{"fn"}) {
		t.Errorf("after %v, the mark of the other handler waits for %v", one.called, how)
	}
	if got := f.annotation(versionsOfHandlers); got != `{"versions":{"fn":"2"}}` {
		t.Errorf("the update leaves %s", f.text)
	}
	f.wantCalls(success, "other")
	f.wantCalls(success)
	if got := f.annotation(versionsOfHandlers); got != `{"versions":{"fn":"2","other":"2"}}` || f.isMarked() {
		t.Errorf("the marks leave %s", f.text)
	}
}

func TestRehandle_IgnoredMarks(t *testing.T) {
	matching := versioned("create", handlers.Create, "2")
	for name, test := range map[string]struct {
		handler *handlers.Handler
		mark    string
		edit    map[string]any
	}{
		"of another build":    {matching, "3", nil},
		"without the version": {versioned("create", handlers.Create, ""), "2", nil},
		"of a deleted object": {matching, "2", map[string]any{"metadata": map[string]any{"deletionTimestamp": "2020-01-01T00:00:00Z"}}},
		"of another object":   {matching, "2", map[string]any{"metadata": map[string]any{"uid": "copy"}}},
	} {
		f := handled(t, versioned("create", handlers.Create, ""))
		f.upgrade(test.handler)
		f.mark("create", test.mark)
		f.edit(test.edit)
		before := f.text
		if called := f.cycle(success); len(called) > 0 || f.text != before {
			t.Errorf("a mark %s calls %v: %s", name, called, f.text)
		}
	}
}

// next returns the kind of wait after a record.
func next(one *step, r *Record) Wait {
	wrote := !one.own.Empty()
	ending := Ending{Finished: r.Finished, MarkNext: r.Marked, Delays: r.Delays, Changed: wrote, Made: wrote, Records: wrote}
	how, _ := ending.Next()
	return how
}

func TestRehandle_MarkFollowsAnotherCause(t *testing.T) {
	resume := handlerOfFamily("resume", handlers.Resume)
	f := handled(t, versioned("create", handlers.Create, ""), resume)
	f.upgrade(versioned("create", handlers.Create, "2"), resume)
	f.mark("create", "2")
	f.life = memory.Life{Listed: true}
	one := f.plan("", nil)
	r := f.record(one, outcomes("resume", success))
	if how := next(one, &r); how != WaitNothing || !slices.Equal(one.called, []string{"resume"}) {
		t.Errorf("after %v, the mark waits for %v", one.called, how)
	}
	one = f.plan(watch.Modified, nil)
	r = f.record(one, outcomes("create", success))
	if how := next(one, &r); how != WaitChange || !slices.Equal(one.called, []string{"create"}) {
		t.Errorf("after %v, the object without a mark waits for %v", one.called, how)
	}
	f.mark("create", "3") // of another build
	f.edit(spec(2))
	one = f.plan(watch.Modified, nil)
	if r = f.record(one, nil); next(one, &r) != WaitChange {
		t.Error("a mark for another version repeats the cycle")
	}
	pruned := Ending{Finished: true, MarkNext: true, Made: true, Records: true}
	if how, _ := pruned.Next(); how == WaitNothing {
		t.Error("an object that stores no records is handled again and again")
	}
}

func TestRehandle_ObjectsThatNoHandlerMatches(t *testing.T) {
	create := versioned("create", handlers.Create, "2")
	create.Labels = map[string]handlers.Criterion{"app": handlers.EqualStringCriterion("x")}
	f := newFate(t, born, create)
	f.mark("create", "2")
	f.wantCalls(success)
	if f.isMarked() || f.annotation(versionsOfHandlers) != nil || f.annotation("kopf.zalando.org/last-handled-configuration") != nil {
		t.Errorf("an object that was never handled keeps %s", f.text)
	}
	f = newFate(t, born, create)
	f.edit(map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "x"}}})
	f.wantCalls(success, "create")
	f.edit(map[string]any{"metadata": map[string]any{"labels": nil, "annotations": map[string]any{versionsOfHandlers: nil}}})
	f.mark("create", "2")
	f.wantCalls(success)
	if f.isMarked() {
		t.Errorf("the object without the label keeps the mark: %s", f.text)
	}
}

func TestRehandle_FailedSubHandlerIsAFailure(t *testing.T) {
	f := handled(t, versioned("create", handlers.Create, ""))
	f.upgrade(versioned("create", handlers.Create, "2"))
	f.mark("create", "2")
	one := f.plan(watch.Modified, nil)
	out := Outcomes{
		ByID: map[string]handlers.Outcome{"create": {Final: true, Subrefs: []string{"create/sub"}}}, Final: []string{"create"},
		Subs: map[string]state.Record{"create/sub": {Started: f.now, Stopped: f.now, Failure: true, Message: "no", Purpose: "create"}},
	}
	if _, err := one.plan.Record(one.s, one.view, &out, f.handled, one.own); err != nil {
		t.Fatal(err)
	}
	f.edit(one.own.Tree())
	if f.annotation(versionsOfHandlers) != nil || f.isMarked() || !strings.Contains(f.text, `\"version\":\"2\"`) {
		t.Errorf("the failure of the sub-handler leaves %s", f.text)
	}
}

func TestRehandle_FiltersApply(t *testing.T) {
	create := versioned("create", handlers.Create, "2")
	create.Labels = map[string]handlers.Criterion{"app": handlers.EqualStringCriterion("x")}
	f := handled(t, versioned("create", handlers.Create, ""))
	f.upgrade(create)
	f.mark("create", "2")
	f.wantCalls(success)
	if got := f.annotation(versionsOfHandlers); got != `{"versions":{"create":"2"}}` || f.isMarked() {
		t.Errorf("without a call, the mark leaves %s", f.text)
	}
}
