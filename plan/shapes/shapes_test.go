package shapes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

const finalizer = "kopf.zalando.org/KopfFinalizerMarker"

var (
	claims  = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "claims"}
	volumes = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	start   = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
)

func uid(i int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", i) }

// tree decodes an object.
func tree(t *testing.T, format string, args ...any) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(fmt.Appendf(nil, format, args...), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

// claim returns the state of a handled object.
func claim(i int, h inspect.HandlerState) *inspect.Object {
	return &inspect.Object{
		Ref:   inspect.Ref{Resource: "claims.v1.kopf.dev", Namespace: "app", Name: fmt.Sprintf("claim-%d", i), UID: uid(i)},
		Short: "claim", State: inspect.StateSettled, Cause: &inspect.Cause{Reason: inspect.ReasonCreate}, Handlers: []inspect.HandlerState{h},
	}
}

func done(h inspect.HandlerState) inspect.HandlerState {
	h.ID, h.Kind, h.Attempts = "create", inspect.KindCreate, []inspect.Attempt{{At: start}}
	if h.State == "" {
		h.State = inspect.PhaseDone
	}
	return h
}

// recordsOf is the operator's own patch of a claim: its records, and the status that the handler sets.
func recordsOf(t *testing.T, i int, size string) proxy.Request {
	return proxy.Request{
		Verb: "patch", Resource: claims, Namespace: "app", Name: fmt.Sprintf("claim-%d", i), Handler: inspect.PlanEngine, Code: 200,
		Before: tree(t, `{"metadata":{"name":"claim-%d","uid":%q,"resourceVersion":"1"},"spec":{"size":%q}}`, i, uid(i), size),
		After: tree(t, `{"metadata":{"name":"claim-%d","uid":%q,"resourceVersion":"2","finalizers":[%q],"annotations":{"kopf.zalando.org/last-handled-configuration":"%d"}},"spec":{"size":%q}}`,
			i, uid(i), finalizer, i, size),
	}
}

// volume is the creation of a child by the handler.
func volume(t *testing.T, i int, size string) proxy.Request {
	body := fmt.Sprintf(`{"metadata":{"name":"claim-%d-data","ownerReferences":[{"uid":%q,"name":"claim-%d"}]},"spec":{"storage":%q}}`, i, uid(i), i, size)
	return proxy.Request{
		Verb: "create", Resource: volumes, Namespace: "app", Name: fmt.Sprintf("claim-%d-data", i), Handler: "create", UID: uid(i), Attempt: 1, Code: 201,
		Body: []byte(body), After: tree(t, `{"metadata":{"name":"claim-%d-data","uid":"u-%d","creationTimestamp":"2026-11-27T12:00:00Z"},"spec":{"storage":%q,"mode":"default"}}`, i, i, size),
	}
}

func group(objects []*inspect.Object, requests ...proxy.Request) []Shape {
	all, _ := Group(Trial{Requests: requests, Objects: objects, Operator: inspect.Operator{Finalizer: finalizer, Started: start}})
	return all
}

// many returns a large number of objects.
func many() int {
	if testing.Short() {
		return 100
	}
	return 1000
}

func TestGroup_ObjectsThatDifferInNamesAndValuesHaveOneShape(t *testing.T) {
	var objects []*inspect.Object
	var requests []proxy.Request
	claims := many()
	for i := range claims {
		size := fmt.Sprintf("%dGi", i+2)
		objects = append(objects, claim(i, done(inspect.HandlerState{})))
		requests = append(requests, recordsOf(t, i, size), volume(t, i, size))
	}
	all := group(objects, requests...)
	if len(all) != 1 || all[0].Count != claims || all[0].Verdict != VerdictChanges {
		t.Fatalf("%d shapes: %+v", len(all), all[0])
	}
	text := all[0].text()
	for _, want := range []string{
		"create persistentvolumeclaims {namespace}/{name}-data by create", "+ spec.storage: {spec.size}", "own changes: + finalizer, records",
		"app/claim-0, app/claim-1, app/claim-2, …",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if strings.Contains(text, "mode") || strings.Contains(text, "last-handled") {
		t.Errorf("defaults and records are no changes:\n%s", text)
	}
}

func TestGroup_ChildrenOfObjectsWithoutRequestsHaveOneShape(t *testing.T) {
	now := Trial{Operator: inspect.Operator{Started: start}, Body: func(o *inspect.Object) map[string]any {
		var i int
		if _, err := fmt.Sscanf(o.Name, "claim-%d", &i); err != nil {
			t.Error(err)
		}
		return tree(t, `{"spec":{"size":"%dGi"}}`, i+2)
	}}
	for i := range 3 {
		now.Objects = append(now.Objects, claim(i, done(inspect.HandlerState{})))
		now.Requests = append(now.Requests, volume(t, i, fmt.Sprintf("%dGi", i+2)))
	}
	all, _ := Group(now)
	if len(all) != 1 || all[0].Count != 3 || !strings.Contains(all[0].text(), "storage: {spec.size}") {
		t.Errorf("%d shapes: %s", len(all), all[0].text())
	}
	without := now
	without.Requests = nil
	if d := Compare(now, without, without).Differences; len(d) != 1 || d[0].Count != 3 {
		t.Errorf("%+v", d)
	}
}

func TestGroup_IgnoredErrorsAreShown(t *testing.T) {
	event := inspect.HandlerState{
		ID: "log", Kind: inspect.KindEvent, State: inspect.PhaseDone,
		Attempts: []inspect.Attempt{{At: start, Error: &inspect.HandlerError{Message: "claim-1 is odd"}}},
	}
	all := group([]*inspect.Object{claim(1, event)})
	if len(all) != 1 || all[0].Verdict != VerdictUnchanged || !slices.Equal(all[0].Handlers, []Handler{{ID: "log", Outcome: OutcomeIgnored, Error: "{name} is odd"}}) {
		t.Errorf("%+v", all)
	}
	if text := all[0].text(); !strings.Contains(text, "log: would fail, and its errors are ignored: {name} is odd\n") {
		t.Error(text)
	}
	repeated := done(inspect.HandlerState{})
	repeated.Attempts = []inspect.Attempt{{At: start, Error: &inspect.HandlerError{Message: "once"}}, {At: start}}
	if all := group([]*inspect.Object{claim(1, repeated)}); all[0].Handlers[0].Outcome != OutcomeSucceeds || all[0].Handlers[0].Error != "" {
		t.Errorf("a later success counts: %+v", all)
	}
}

func TestGroup_OtherBehaviourIsAnotherShape(t *testing.T) {
	broken := done(inspect.HandlerState{State: inspect.PhaseFailed, Error: &inspect.HandlerError{Message: "claim-2 has no size"}})
	waiting := done(inspect.HandlerState{
		State: inspect.PhaseRetrying, Next: start.Add(inspect.PlanLater + 30*time.Second), Error: &inspect.HandlerError{Message: "not bound"},
	})
	stopping := done(inspect.HandlerState{State: inspect.PhaseFailed, Error: &inspect.HandlerError{Message: `make it: step "create-bucket": ` + inspect.PlanStep}})
	refused := volume(t, 5, "2Gi")
	refused.Code, refused.After, refused.Status = 403, nil, &metav1.Status{Message: `"claim-5-data" is forbidden: exceeded quota`}
	other := claim(1, inspect.HandlerState{ID: "create", Kind: inspect.KindCreate, State: inspect.PhaseOtherCause})
	all := group([]*inspect.Object{
		other, claim(2, broken), claim(3, waiting), claim(4, stopping), claim(5, done(inspect.HandlerState{})),
	}, refused)
	var got []string
	for _, s := range all {
		got = append(got, string(s.Verdict)+": "+strings.Join(strings.Fields(s.text()), " "))
	}
	slices.Sort(got)
	for i, want := range []string{
		`fails: 1 fail claim create app/claim-2 create: would fail: {name} has no size`,
		`fails: 1 fail claim create app/claim-5 create persistentvolumeclaims {namespace}/{name}-data by create refused: create: 403 "{name}-data" is forbidden: exceeded quota`,
		`stops: 1 stop claim create app/claim-4 create: stops at step create-bucket; the rest is not known`,
		`unchanged: 1 unchanged claim no handler is called app/claim-1`,
		`waits: 1 wait claim create app/claim-3 create: would wait: not bound (again in 30s)`,
	} {
		if i >= len(got) || got[i] != want {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
		}
	}
}

func TestGroup_PanicIsAFailure(t *testing.T) {
	all := group([]*inspect.Object{claim(1, done(inspect.HandlerState{
		State: inspect.PhaseRetrying, Next: start.Add(inspect.PlanLater), Error: &inspect.HandlerError{Kind: inspect.ErrorPanic, Message: "panic: index out of range"},
	}))})
	if text := all[0].text(); all[0].Verdict != VerdictFails || !strings.Contains(text, "create: would fail: panic: index out of range") {
		t.Errorf("%s: %s", all[0].Verdict, text)
	}
}

func TestGroup_RecordsUnderACustomPrefixAreTheOperatorsOwn(t *testing.T) {
	r := recordsOf(t, 1, "2Gi")
	r.After["metadata"].(map[string]any)["annotations"] = map[string]any{"mine.example.com/last-handled-configuration": "{}", "mine.example.com/create": progress}
	all := group([]*inspect.Object{claim(1, done(inspect.HandlerState{}))}, r)
	if len(all) != 1 || all[0].Verdict != VerdictRecords {
		t.Errorf("%+v", all)
	}
	r.Handler = "create" // not the operator itself
	if all = group([]*inspect.Object{claim(1, done(inspect.HandlerState{}))}, r); all[0].Verdict != VerdictChanges {
		t.Errorf("%+v", all)
	}
}

func TestGroup_RequestsOfUnknownClientsAreNamed(t *testing.T) {
	r := volume(t, 1, "2Gi")
	r.Handler, r.UID, r.Body = "", "", []byte(`{"metadata":{"name":"claim-1-data"}}`)
	all := group(nil, r)
	if len(all) != 1 || !strings.Contains(all[0].text(), "requests that belong to no handled object") || !strings.Contains(all[0].text(), "by an unknown client") {
		t.Errorf("%+v", all)
	}
}

func TestGroup_EngineWritesOfOwnedObjectsBelongToTheOwner(t *testing.T) {
	r := proxy.Request{
		Verb: "delete", Resource: volumes, Namespace: "app", Name: "claim-1-data", Handler: inspect.PlanEngine, Code: 200,
		Before: tree(t, `{"metadata":{"name":"claim-1-data","uid":"other","ownerReferences":[{"uid":%q}]}}`, uid(1)),
	}
	events := proxy.Request{Verb: "create", Resource: schema.GroupVersionResource{Version: "v1", Resource: "events"}, Handler: inspect.PlanEngine, Code: 201}
	all := group([]*inspect.Object{claim(1, inspect.HandlerState{ID: "create", State: inspect.PhaseOtherCause})}, r, events)
	if len(all) != 1 || !strings.Contains(all[0].text(), "delete persistentvolumeclaims {namespace}/{name}-data by the operator itself") {
		t.Errorf("%+v", all)
	}
}

// plan returns a plan with many shapes.
func plan(n int) *Plan {
	p := &Plan{Version: Version, Packages: []string{"./handlers"}, As: "now", Box: "none", CannotTell: []string{"timing"}}
	for i := range n {
		p.Shapes = append(p.Shapes, Shape{
			ID: fmt.Sprint(i), Verdict: VerdictFails, Count: 2, Resource: "claims.v1.kopf.dev", Short: "claim", Objects: []string{"a/b", "a/c"},
			Handlers: []Handler{{ID: "create", Outcome: OutcomeFails, Error: "\x1b[31m```" + strings.Repeat("long ", 20)}},
		})
	}
	return p
}

func TestWrite_CutTextSaysSo(t *testing.T) {
	for name, write := range map[string]func(*Plan, *strings.Builder, int) error{
		"text":     func(p *Plan, b *strings.Builder, max int) error { return p.WriteText(b, max) },
		"markdown": func(p *Plan, b *strings.Builder, max int) error { return p.WriteMarkdown(b, max) },
	} {
		var whole, cut strings.Builder
		if err := write(plan(100), &whole, 1<<20); err != nil {
			t.Fatal(err)
		}
		if err := write(plan(100), &cut, 4000); err != nil {
			t.Fatal(err)
		}
		shown := strings.Count(cut.String(), "would fail")
		want := fmt.Sprintf("… %d shapes more, %d objects: the report has them", 100-shown, 2*(100-shown))
		if cut.Len() > 4000 || shown == 0 || !strings.Contains(cut.String(), want) {
			t.Errorf("%s: %d bytes, want %q:\n%s", name, cut.Len(), want, cut.String())
		}
		for _, text := range []string{whole.String(), cut.String()} {
			if !strings.Contains(text, "not tried: nothing") || !strings.Contains(text, "not known: timing") || !strings.Contains(text, "box: none") {
				t.Errorf("%s: the end is missing:\n%s", name, text)
			}
			if strings.Contains(text, "\x1b") {
				t.Errorf("%s: a message has controlled the terminal", name)
			}
		}
		if strings.Count(whole.String(), "would fail") != 100 {
			t.Errorf("%s: the whole text is not whole", name)
		}
	}
}

func TestWrite_CountsObjectsAndNamesTheLastPass(t *testing.T) {
	p := Plan{Shapes: []Shape{
		{Count: 9, Pass: &Pass{Outcome: "complete", Applied: 2}, Writes: []Write{
			{Verbs: []string{"create", "patch"}, Resource: "pods.v1"}, {Verbs: []string{"delete"}, Resource: "pods.v1"}, {Verbs: []string{"patch"}, Resource: "pods.v1"},
		}},
		{Count: 1000, Writes: []Write{{Verbs: []string{"create"}, Resource: "pods.v1"}, {Verbs: []string{"delete"}, Resource: "pods.v1", Refused: []string{"delete: 403"}}}},
	}}
	var b strings.Builder
	if err := p.WriteText(&b, 1<<20); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n         last pass complete: 2 applied, 0 pruned, 0 refused\n", "\n  objects: 1,009 to create, 9 to change, 9 to delete\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing:\n%s", want, b.String())
		}
	}
}

func TestWrite_LongListsAreCut(t *testing.T) {
	const most = 2000
	p := plan(1)
	p.Packages, p.Ended = []string{strings.Repeat("./é", most)}, strings.Repeat("late ", most)
	for i := range most {
		p.NotTried = append(p.NotTried, fmt.Sprintf("daemon d-%d on 1 object", i))
		p.Requests = append(p.Requests, Request{Verb: "patch", Resource: fmt.Sprintf("kind-%d", i), Count: 1})
	}
	p.Against = &Against{Build: strings.Repeat("v", most), Ended: p.Ended, Requests: p.Requests, Noise: p.NotTried}
	for name, write := range map[string]func(*strings.Builder) error{
		"text":     func(b *strings.Builder) error { return p.WriteText(b, most) },
		"markdown": func(b *strings.Builder) error { return p.WriteMarkdown(b, most) },
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if len(text) > most || !utf8.ValidString(text) {
			t.Errorf("%s has %d bytes: %q", name, len(text), text)
		}
		for _, want := range []string{"not tried: daemon d-0 on 1 object,", "bytes more: see --report=FILE", "not known: timing", "box: none (the operator could"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing: %s", name, want, text)
			}
		}
	}
}

func TestNormaliser_ReplacesWholeWordsAlone(t *testing.T) {
	n := newNormaliser("app", "web", uid(7), nil)
	for text, want := range map[string]string{
		"web":                          "{name}",
		"webhook of web-data in app":   "webhook of {name}-data in {namespace}",
		"at 2026-11-27T12:00:00Z":      "at {time}",
		uid(7) + " and " + uid(8):      "{uid} and {uid}",
		"redacted-0123abcd":            "{secret}",
		"application of the web's app": "application of the {name}'s {namespace}",
	} {
		if got := n.text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := n.objectName("app", "web-x7k2b", true); got != "{namespace}/{name}-{random}" {
		t.Errorf("got %q", got)
	}
}

func TestGroup_DeletedCollectionIsAChange(t *testing.T) {
	deleted := proxy.Request{Verb: "deletecollection", Resource: volumes, Namespace: "app", Handler: "create", UID: uid(1), Attempt: 1, Code: 200}
	all := group([]*inspect.Object{claim(1, done(inspect.HandlerState{}))}, deleted)
	if len(all) != 1 || all[0].Verdict != VerdictChanges || !strings.Contains(all[0].text(), "deletecollection persistentvolumeclaims {namespace}/* by create") {
		t.Errorf("%+v", all)
	}
}

func TestGroup_ChangeOfANewObjectIsShown(t *testing.T) {
	created := volume(t, 1, "2Gi")
	patched := created
	patched.Verb, patched.Code, patched.Before, patched.Body = "patch", 200, created.After, []byte(`{"spec":{"storage":null,"class":"fast"}}`)
	patched.After = tree(t, `{"metadata":{"name":"claim-1-data","uid":"u-1"},"spec":{"class":"fast","mode":"default"}}`)
	all := group([]*inspect.Object{claim(1, done(inspect.HandlerState{}))}, created, patched)
	text := all[0].text()
	if !strings.Contains(text, `+ spec.class: "fast"`) || strings.Contains(text, "spec.storage") || strings.Contains(text, "mode") {
		t.Errorf("the change after the creation is missing:\n%s", text)
	}
}

func TestGroup_FailureBesideAStepIsAFailure(t *testing.T) {
	o := claim(1, done(inspect.HandlerState{State: inspect.PhaseFailed, Error: &inspect.HandlerError{Message: `step "make": ` + inspect.PlanStep}}))
	failed := done(inspect.HandlerState{State: inspect.PhaseFailed, Error: &inspect.HandlerError{Message: "no size"}})
	failed.ID = "check"
	o.Handlers = append(o.Handlers, failed)
	if all := group([]*inspect.Object{o}); all[0].Verdict != VerdictFails {
		t.Errorf("the verdict is %s:\n%s", all[0].Verdict, all[0].text())
	}
}
