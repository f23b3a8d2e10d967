package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/plan/trial"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestPlanPage_MarksObjectsThatWouldChange(t *testing.T) {
	kex := "kopfexamples.v1.kopf.dev"
	pod := func(verb, name string, code int32) proxy.Request {
		object := map[string]any{"metadata": map[string]any{"name": name, "namespace": "shop", "uid": "uid-" + name}}
		r := proxy.Request{Verb: verb, Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "shop", Name: name, Handler: "start", Code: int(code), Before: object}
		if code >= 400 {
			r.After, r.Status = object, &metav1.Status{Code: code, Message: "forbidden"}
		}
		return r
	}
	unattributed, _ := shapes.Group(shapes.Trial{Requests: []proxy.Request{pod("delete", "stray", 200), pod("delete", "kept", 403)}})
	page := planPage(&shapes.Plan{As: "now", Ended: "--timeout=1s was over", NotTried: []string{"timer tick on 2 objects"}, Shapes: append([]shapes.Shape{
		{Verdict: shapes.VerdictFails, Count: 1, Resource: kex, Short: "kex", Objects: []string{"shop/bad"},
			Handlers: []shapes.Handler{{ID: "extend", Outcome: shapes.OutcomeFails, Error: "spec.field must be set"}}},
		{Verdict: shapes.VerdictChanges, Count: 2, Resource: kex, Short: "kex", Objects: []string{"shop/one", "shop/two"}, Writes: []shapes.Write{
			{Verbs: []string{"create"}, Resource: "pods.v1", Name: "{namespace}/{name}-new"},
			{Verbs: []string{"delete"}, Resource: "pods.v1", Name: "{namespace}/{name}-old"},
			{Verbs: []string{"delete"}, Resource: "pods.v1", Name: "{namespace}/{name}-refused", Refused: []string{"forbidden"}},
			{Verbs: []string{"patch"}, Resource: "configmaps.v1", Name: "{namespace}/all", Changes: []shapes.Change{{Path: "data.a", New: `"1"`}}},
			{Verbs: []string{"patch"}, Resource: "secrets.v1", Name: "{namespace}/{name}"},
			{Verbs: []string{"delete"}, Resource: "pods.v1", Name: "{namespace}/{name}-{random}"},
			{Verbs: []string{"delete"}, Resource: kex, Name: "{namespace}/child"},
		}},
		{Verdict: shapes.VerdictChanges, Count: 1, Resource: kex, Short: "kex", Objects: []string{"shop/child"}, Writes: []shapes.Write{
			{Verbs: []string{"patch"}, Resource: kex, Name: "{namespace}/{name}", Changes: []shapes.Change{{Path: "spec.a", New: `"1"`}}},
		}},
		{Verdict: shapes.VerdictRecords, Count: 1, Resource: kex, Short: "kex", Objects: []string{"shop/three"}},
		{Verdict: shapes.VerdictChanges, Count: 1, Resource: "globals.v1.kopf.dev", Short: "glo", Objects: []string{"top"}, Writes: []shapes.Write{
			{Verbs: []string{"patch"}, Resource: "globals.v1.kopf.dev", Name: "{name}", Changes: []shapes.Change{{Path: "spec.a", New: `"1"`}}},
		}},
	}, unattributed...)})
	if !page.Incomplete || !strings.HasPrefix(page.Sentence, "incomplete: ") {
		t.Errorf("the plan is summed up as %q", page.Sentence)
	}
	if want := "delete 6 objects, be refused on 3, fail on 1, change 4, create 2"; page.Effect != want {
		t.Errorf("the effect is %q, not %q", page.Effect, want)
	}
	if page.NotTried != 1 {
		t.Errorf("%d things were not tried", page.NotTried)
	}
	var got []string
	for ref, m := range page.Marks {
		got = append(got, fmt.Sprintf("%s %s/%s %s", ref.Resource, ref.Namespace, ref.Name, m.Text))
	}
	slices.Sort(got)
	want := []string{
		"configmaps.v1 shop/all would change it",
		"globals.v1.kopf.dev /top would change it",
		kex + " shop/bad would fail",
		kex + " shop/child would delete it",
		kex + " shop/one would act on it",
		kex + " shop/two would act on it",
		"pods.v1 shop/one-old would delete it",
		"pods.v1 shop/stray would delete it",
		"pods.v1 shop/two-old would delete it",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	bad := page.Marks[inspect.Ref{Resource: kex, Namespace: "shop", Name: "bad"}]
	if len(bad.Lines) != 1 || bad.Lines[0] != "extend: would fail: spec.field must be set" {
		t.Errorf("the details of the failure are %q", bad.Lines)
	}
	if foot := strings.Join(page.Footer, "\n"); !strings.Contains(foot, "not tried: timer tick on 2 objects") || !strings.Contains(foot, "not known: nothing") {
		t.Errorf("the end is %s", foot)
	}
	if s := page.Shapes[0]; s.Title != "1  fail         kex  extend  shop/bad" || len(page.Shapes) != 7 {
		t.Errorf("the first of %d entries is %q", len(page.Shapes), s.Title)
	}
}

func TestPlanEffect_IsOfHandlersAndOfWritesOtherThanEvents(t *testing.T) {
	of := func(verdict shapes.Verdict, handlers []shapes.Handler, writes ...shapes.Write) string {
		return planEffect(&shapes.Plan{Shapes: []shapes.Shape{{
			Verdict: verdict, Resource: "kopfexamples.v1.kopf.dev", Objects: []string{"shop/one", "shop/two"}, Handlers: handlers, Writes: writes,
		}}})
	}
	handler := func(outcome shapes.Outcome, calls int) []shapes.Handler {
		return []shapes.Handler{{ID: "extend", Outcome: outcome, Calls: calls}}
	}
	create := func(resource string) shapes.Write {
		return shapes.Write{Verbs: []string{"create"}, Resource: resource, Name: "{namespace}/{name}-new"}
	}
	refused := shapes.Write{Verbs: []string{"patch"}, Resource: "pods.v1", Name: "{namespace}/{name}", Refused: []string{"forbidden"}}
	for name, test := range map[string]struct{ got, want string }{
		"succeeds":           {of(shapes.VerdictRecords, handler(shapes.OutcomeSucceeds, 1)), ""},
		"had failed":         {of(shapes.VerdictUnchanged, handler(shapes.OutcomeFailed, 0)), ""},
		"fails":              {of(shapes.VerdictFails, handler(shapes.OutcomeFails, 1)), "fail on 2 objects"},
		"fails, ignored":     {of(shapes.VerdictUnchanged, handler(shapes.OutcomeIgnored, 1)), "fail on 2 objects"},
		"pass fails":         {of(shapes.VerdictFails, nil), "fail on 2 objects"},
		"waits, not called":  {of(shapes.VerdictWaits, handler(shapes.OutcomeWaits, 0)), "retry later on 2 objects"},
		"waits, called":      {of(shapes.VerdictWaits, handler(shapes.OutcomeWaits, 2)), "retry later on 2 objects"},
		"stops":              {of(shapes.VerdictStops, handler(shapes.OutcomeStops, 1)), "stop at a step on 2 objects"},
		"request is refused": {of(shapes.VerdictFails, handler(shapes.OutcomeSucceeds, 1), refused), "be refused on 2 objects"},
		"replaces":           {of(shapes.VerdictWaits, nil, shapes.Write{Verbs: []string{"create", "delete"}, Resource: "pods.v1", Name: "{namespace}/{name}"}), "change 2 objects, retry later on 2"},
		"deletes all":        {of(shapes.VerdictChanges, nil, shapes.Write{Verbs: []string{"deletecollection"}, Resource: "pods.v1", Name: "{namespace}/*"}), "delete 1 object"},
		"event":              {of(shapes.VerdictChanges, nil, create("events.v1"), create("events.v1.events.k8s.io")), ""},
		"custom event":       {of(shapes.VerdictChanges, nil, create("events.v1.acme.io")), "create 2 objects"},
	} {
		if test.got != test.want {
			t.Errorf("%s: the effect is %q, not %q", name, test.got, test.want)
		}
	}
}

func TestDevPlan_FirstStepBuildsOnlyCodeThatIsNotBuilt(t *testing.T) {
	if got := firstStep("/op"); strings.Contains(got, "building") {
		t.Errorf("the first step is %s", got)
	}
	if got := firstStep(""); !strings.Contains(got, "building") {
		t.Errorf("the first step is %s", got)
	}
}

func TestPlanReloads_AreRejectedWithoutPlanOrScreen(t *testing.T) {
	for want, f := range map[string]*operatorFlags{
		"--no-reload": {planReloads: true, noReload: true}, "--retry-failed": {planReloads: true, retryFailed: true}, "needs the workbench": {planReloads: true},
	} {
		if err := checkPlanReloads(f, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := checkPlanReloads(&operatorFlags{noReload: true}, false); err != nil {
		t.Error(err)
	}
}

func TestDevPlan_KeepsErrorsOfTheCleanUp(t *testing.T) {
	session := runner.NewSession(runner.Options{})
	planner := devPlanner{session: session}
	planner.clean(nil)
	if err := planner.leftovers(); err != nil {
		t.Error(err)
	}
	planner.clean(errors.New("the folder stays\nit is in use"))
	log := session.State().Log
	if len(log) != 1 || log[0].Level != inspect.LevelError || log[0].Message != "clean up after a plan: the folder stays; it is in use" {
		t.Errorf("the log is %+v", log)
	}
	if err := planner.leftovers(); err == nil || !strings.Contains(err.Error(), "the folder stays") {
		t.Errorf("got %v", err)
	}
}

func TestShortError_HasAtMostTwoLines(t *testing.T) {
	if err := shortError(errors.New("a\nb\nc")); err == nil || err.Error() != "a\nb" {
		t.Errorf("got %v", err)
	}
	broken := &runner.BuildFailure{Errors: []runner.BuildError{{File: "claims.go", Line: 49, Message: "undefined: newSiez\nmore"}, {Message: "other"}}}
	if err := shortError(fmt.Errorf("build: %w", broken)); err == nil || err.Error() != "the saved code cannot be built: claims.go:49: undefined: newSiez, and 1 error more" {
		t.Errorf("got %v", err)
	}
	crash := &trial.ExitError{Err: errors.New("exit status 2"), Output: []string{"panic: no bucket", "goroutine 1 [running]:", "main.main()"}}
	if err := shortError(crash); err == nil || err.Error() != "the operator ended by itself: exit status 2\npanic: no bucket" {
		t.Errorf("got %v", err)
	}
	if err := shortError(nil); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestDevPlan_ReadsNoClusterUnlessTheSessionsIsReady(t *testing.T) {
	session := runner.NewSession(runner.Options{})
	planner := devPlanner{session: session, flags: &operatorFlags{}, patterns: []string{"./x"}}
	plan, err := planner.plan(t.Context(), "", func(step string) { t.Errorf("it begins: %s", step) })
	if plan != nil || err == nil || err.Error() != "no cluster answers" {
		t.Errorf("got %v, %v", plan, err)
	}
}
