package shapes

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

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
		"removed records":    {record, nil, "changes other.com/applied other.com/failed-handler.create"}, // of an operator that has not written them
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

// TestIsRecord_DocumentedNames reads the table of the records.
func TestIsRecord_DocumentedNames(t *testing.T) {
	text, err := os.ReadFile("../../docs/state-on-objects.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("(?m)^\\| `metadata\\.annotations\\[[A-Za-z.]+/(.+)\\]`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 10 {
		t.Fatalf("the table has %d annotations", len(names))
	}
	for _, match := range names {
		if name := match[1]; name != "<handler id>" && name != "reconcile" && !isRecord(name, "") { // both have the progress of a handler
			t.Errorf("%s is no record", name)
		}
	}
}

func TestGroup_RemovalOfTheLastFinalizerDeletes(t *testing.T) {
	r := records(t, 1, "x")
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
