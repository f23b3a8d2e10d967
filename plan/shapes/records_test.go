package shapes

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

const progress = `{"started":"2026-11-27T12:00:00.000000+00:00","purpose":"create","retries":0,"success":false,"failure":false}`

// annotated is a patch of a claim by the operator itself. It changes annotations and, with some names, labels.
func annotated(t *testing.T, before, after map[string]string) proxy.Request {
	object := func(all map[string]string) string {
		meta := map[string]map[string]string{"annotations": {}, "labels": {}}
		for name, value := range all {
			field := "annotations"
			if strings.HasSuffix(name, "/tier") || strings.HasSuffix(name, "/owned-by") {
				field = "labels"
			}
			meta[field][name] = value
		}
		text, err := json.Marshal(meta)
		if err != nil {
			t.Fatal(err)
		}
		return "," + strings.TrimSuffix(strings.TrimPrefix(string(text), "{"), "}")
	}
	r := patched(t, 0, object(before), object(after))
	r.Handler = inspect.PlanEngine
	return r
}

func TestGroup_RecordsAreNamesAndContents(t *testing.T) {
	const state, hash = `{"spec":{}}` + "\n", "1:0123456789abcdef"
	record := map[string]string{
		"acme.com/last-handled-configuration": "{}", "acme.com/last-handled-configuration-ofDRS": "{}", "acme.com/kopf-managed": "yes", "acme.com/touch-dummy": "now",
		"acme.com/child-kinds": "services", "acme.com/handler-versions": "{}", "acme.com/failed-handler.create": "{}", "acme.com/handler-steps.create": "{}",
		"acme.com/started-step.create.a": "{}", "acme.com/rehandle-handler.create": "{}", "acme.com/unreadable.create": "{", "acme.com/create": progress,
		"acme.com/removed-a-long-time-ag-0a1B2c": strings.Replace(progress, `"purpose"`, `"stopped":null,"purpose"`, 1), "acme.com/our-state": state, "acme.com/applied": hash,
		"kopf.dev/owned-by": "claims.kopf.dev", "other.com/failed-handler.create": "{}", "other.com/applied": hash,
	}
	for title, test := range map[string]struct {
		before, after map[string]string
		want          string // verdict, and the names of changed labels and annotations
	}{
		"records":            {nil, record, "records"},
		"removed records":    {record, nil, "changes acme.com/our-state other.com/applied other.com/failed-handler.create"}, // nothing has written the state here, and another operator the others
		"a label":            {map[string]string{"acme.com/tier": "x"}, map[string]string{"acme.com/tier": "y"}, "changes acme.com/tier"},
		"other annotations":  {nil, map[string]string{"acme.com/note": "{}", "acme.com/applied": "yes"}, "changes acme.com/applied acme.com/note"},
		"a pause":            {nil, map[string]string{"kopf.dev/paused": "an incident"}, "changes kopf.dev/paused"},
		"another operator's": {map[string]string{"other.com/last-handled-configuration": "{}"}, map[string]string{"other.com/last-handled-configuration": "{}", "other.com/handler-versions": "{}"}, "records"},
		"another state":      {map[string]string{"other.com/last-handled-configuration": "{}"}, map[string]string{"other.com/last-handled-configuration": "{}", "other.com/our-state": state}, "changes other.com/our-state"},
		"a state of kubectl": {nil, map[string]string{"kubectl.kubernetes.io/last-applied-configuration": state}, "changes kubectl.kubernetes.io/last-applied-configuration"},
	} {
		all, _ := Group(Trial{
			Requests: []proxy.Request{annotated(t, test.before, test.after)}, Objects: []*inspect.Object{claim(0, done(inspect.HandlerState{}))},
			Operator: inspect.Operator{Finalizer: "acme.com/op", Started: start},
		})
		got := string(all[0].Verdict)
		for _, w := range all[0].Writes {
			for _, c := range w.Changes {
				_, name, _ := strings.Cut(c.Path, `["`)
				got += " " + strings.TrimSuffix(name, `"]`)
			}
		}
		if len(all) != 1 || got != test.want {
			t.Errorf("%s: got %s, want %s:\n%s", title, got, test.want, all[0].text())
		}
	}
}

// TestGroup_StateHasTheReportedNameOrTheFieldsOfTheObject holds that a handler can write JSON with a line feed at the end.
func TestGroup_StateHasTheReportedNameOrTheFieldsOfTheObject(t *testing.T) {
	reported := [][]string{{"metadata", "annotations", "acme.com/our-state"}}
	const state = `{"metadata":{"labels":{}},"spec":{"size":"x"}}` + "\n"
	for title, test := range map[string]struct {
		records     [][]string
		name, value string
		want        Verdict
	}{
		"the reported name":             {reported, "acme.com/our-state", "any", VerdictRecords},
		"another name":                  {reported, "acme.com/config", state, VerdictChanges},
		"a name that is not reported":   {nil, "acme.com/our-state", state, VerdictRecords},
		"JSON of other fields":          {nil, "acme.com/config", `{"host":"a"}` + "\n", VerdictChanges},
		"JSON of an object":             {nil, "acme.com/config", `{"apiVersion":"v1","kind":"Claim","spec":{}}` + "\n", VerdictChanges},
		"JSON without any field":        {nil, "acme.com/config", "{}\n", VerdictChanges},
		"JSON without a line feed":      {nil, "acme.com/config", strings.TrimSpace(state), VerdictChanges},
		"a state with a foreign prefix": {nil, "users.com/config", state, VerdictChanges},
	} {
		all, _ := Group(Trial{
			Requests: []proxy.Request{annotated(t, nil, map[string]string{test.name: test.value})}, Objects: []*inspect.Object{claim(0, done(inspect.HandlerState{}))},
			Operator: inspect.Operator{Finalizer: "acme.com/op", Started: start, Records: test.records},
		})
		if len(all) != 1 || all[0].Verdict != test.want {
			t.Errorf("%s: %s", title, all[0].text())
		}
	}
}

// TestGroup_RemovedFieldStaysInTheOldState has a state whose old value has fields that the object no longer has.
func TestGroup_RemovedFieldStaysInTheOldState(t *testing.T) {
	old, now := map[string]string{"acme.com/our-state": `{"data":{},"spec":{"size":"y"}}` + "\n"}, map[string]string{"acme.com/our-state": `{"spec":{"size":"x"}}` + "\n"}
	all, _ := Group(Trial{
		Requests: []proxy.Request{annotated(t, old, now)}, Objects: []*inspect.Object{claim(0, done(inspect.HandlerState{}))},
		Operator: inspect.Operator{Finalizer: "acme.com/op", Started: start},
	})
	if all[0].Verdict != VerdictRecords {
		t.Error(all[0].text())
	}
}

func TestGroup_RecordsInTheStatusAreNamed(t *testing.T) {
	patchOf := func(status string) proxy.Request {
		r := patched(t, 0, "", "")
		r.Handler, r.After["status"] = inspect.PlanEngine, tree(t, "%s", status)
		return r
	}
	for status, want := range map[string]string{
		`{"kopf":{"progress":{"create":{"retries":1}},"dummy":"x","last-handled-configuration":"{}"}}`: "records ",
		`{"kopf":{"progress":{}},"ours":{"state":"{}"}}`:                                               "records ",
		`{"kopf":{"progress":{},"host":"a"}}`:                                                          "changes status.kopf.host",
		`{"ours":{"host":"a"}}`:                                                                        "changes status.ours.host",
	} {
		all, _ := Group(Trial{
			Requests: []proxy.Request{patchOf(status)}, Objects: []*inspect.Object{claim(0, done(inspect.HandlerState{}))},
			Operator: inspect.Operator{Finalizer: finalizer, Started: start, Records: [][]string{{"status", "ours", "state"}}},
		})
		got := string(all[0].Verdict) + " "
		for _, w := range all[0].Writes {
			for _, c := range w.Changes {
				got += c.Path
			}
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", status, got, want)
		}
	}
}

// TestGroup_OtherGroupsHaveEventsAndLeases handles objects whose resources have the names of those that only serve operators.
func TestGroup_OtherGroupsHaveEventsAndLeases(t *testing.T) {
	for _, name := range []string{"events", "leases", "kopfpeerings"} {
		child := volume(t, 0, "1Gi")
		child.Handler, child.Resource.Group, child.Resource.Resource = inspect.PlanEngine, "rental.example.com", name
		child.After["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"uid": uid(0)}}
		all := group([]*inspect.Object{claim(0, done(inspect.HandlerState{}))}, child)
		if len(all) != 1 || all[0].Verdict != VerdictChanges || len(all[0].Writes) != 1 {
			t.Errorf("%s: %s", name, all[0].text())
		}
	}
	self := recordsOf(t, 0, "x")
	self.Resource.Group, self.Resource.Resource = "coordination.k8s.io", "leases"
	self.After["spec"] = map[string]any{"size": "y"}
	if all := group([]*inspect.Object{claim(0, done(inspect.HandlerState{}))}, self); len(all) != 1 || all[0].Verdict != VerdictChanges {
		t.Errorf("a handled lease: %s", all[0].text())
	}
}

// TestGroup_InvalidChangeOfAHandlerIsRefused has the requests for a change that the operator sends for a handler. The operator drops an invalid
// change, and writes only its records.
func TestGroup_InvalidChangeOfAHandlerIsRefused(t *testing.T) {
	for title, test := range map[string]struct {
		causes []metav1.StatusCause
		want   Verdict
	}{
		"a conflict":       {nil, VerdictRecords},
		"a proxy":          {[]metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse}}, VerdictRecords},
		"another object":   {[]metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "metadata.uid"}}, VerdictRecords},
		"an invalid field": {[]metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid, Field: "spec.size"}}, VerdictFails},
	} {
		refused := recordsOf(t, 0, "x")
		refused.Code, refused.After = 422, refused.Before
		refused.Status = &metav1.Status{Message: "the claim is invalid", Details: &metav1.StatusDetails{Causes: test.causes}}
		all := group([]*inspect.Object{claim(0, done(inspect.HandlerState{}))}, refused, recordsOf(t, 0, "x"))
		if len(all) != 1 || all[0].Verdict != test.want {
			t.Errorf("%s: %s", title, all[0].text())
		}
	}
}

func TestCompareForeign_LabelsAndNotesBelowThePrefixAreCompared(t *testing.T) {
	kept := map[string]string{"other.com/last-handled-configuration": "{}"}
	now := handledClaims(1, annotated(t, kept, map[string]string{"other.com/last-handled-configuration": "{}", "acme.com/tier": "y", "other.com/note": "new"}))
	now.Operator.Finalizer = "acme.com/op"
	old := annotated(t, kept, map[string]string{"other.com/last-handled-configuration": "{}", "acme.com/tier": "z", "other.com/note": "old", "acme.com/removed": progress})
	a := CompareForeign(now, Trial{Requests: []proxy.Request{old}}, Trial{Requests: []proxy.Request{old}})
	got := strings.Join(found(a), "\n")
	if strings.Count(got, `"z" → "y"`) != 1 || strings.Count(got, `"old" → "new"`) != 1 || strings.Contains(got, "removed") || strings.Contains(got, "last-handled") {
		t.Error(got)
	}
}

func TestGroup_RemovalOfTheLastFinalizerDeletes(t *testing.T) {
	r := recordsOf(t, 1, "x")
	r.Before["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-27T12:00:00Z"
	r.Before["metadata"].(map[string]any)["finalizers"] = []any{finalizer}
	r.After = nil
	all := group([]*inspect.Object{claim(1, done(inspect.HandlerState{}))}, r)
	if text := all[0].text(); all[0].Verdict != VerdictChanges || !strings.Contains(text, "delete claims {namespace}/{name} by create\n") || strings.Contains(text, "patch") {
		t.Errorf("%s:\n%s", all[0].Verdict, text)
	}
	a := Compare(handledClaims(2, r), handledClaims(2), handledClaims(2))
	if got := strings.Join(found(a), "\n"); !strings.Contains(got, "+ claims.v1.kopf.dev {namespace}/{name}: delete by create") {
		t.Error(got)
	}
}
