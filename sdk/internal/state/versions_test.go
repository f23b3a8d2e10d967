package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func markedObject(annotations map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"uid": "u", "annotations": annotations}}
}

func TestVersions_StoresOnlyVersionsOtherThanTheFirst(t *testing.T) {
	const key = "kopf.zalando.org/handler-versions"
	for _, test := range []struct {
		name    string
		before  any
		handled map[string]string
		want    any // the annotation in the patch; nil if it has none
		removed bool
	}{
		{"no handler", nil, nil, nil, false},
		{"first version", nil, map[string]string{"a": "1"}, nil, false},
		{"second version", nil, map[string]string{"a": "2"}, `{"versions":{"a":"2"}}`, false},
		{"other handlers stay", `{"versions":{"b":"x"}}`, map[string]string{"a": "2"}, `{"versions":{"a":"2","b":"x"}}`, false},
		{"same version", `{"versions":{"a":"2"}}`, map[string]string{"a": "2"}, nil, false},
		{"back to the first version", `{"versions":{"a":"2"}}`, map[string]string{"a": "1"}, nil, true},
		{"unreadable record", `{"vers`, map[string]string{"a": "2"}, `{"versions":{"a":"2"}}`, false},
		{"unreadable record, first version", `{"vers`, map[string]string{"a": "1"}, nil, false},
		{"no text", int64(3), map[string]string{"a": "2"}, `{"versions":{"a":"2"}}`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			obj := markedObject(map[string]any{"app": "x"})
			if test.before != nil {
				obj = markedObject(map[string]any{key: test.before})
			}
			p := patch.NewPatch()
			if err := (Versions{Prefix: knownPrefix}).Store(obj, test.handled, p); err != nil {
				t.Fatal(err)
			}
			got, set := p.Lookup(object.Path{"metadata", "annotations", key})
			if diff := cmp.Diff(test.want, got); diff != "" || set != (test.want != nil || test.removed) {
				t.Errorf("in the patch: %v: %s", set, diff)
			}
		})
	}
}

func TestVersions_MarksOfOtherObjectsAreIgnored(t *testing.T) {
	v := Versions{Prefix: "my.example.com"}
	long := "create/spec.a-field-with-a-name-that-is-too-long-for-the-name-of-an-annotation"
	obj := markedObject(map[string]any{
		v.MarkKey("b", nil):              `{"handler":"b","version":"2","uid":"u"}`,
		v.MarkKey(long, nil):             `{"handler":"` + long + `","version":"3","uid":"u"}`,
		v.MarkKey("copied", nil):         `{"handler":"copied","version":"2","uid":"other"}`,
		v.MarkKey("renamed", nil):        `{"handler":"b","version":"2","uid":"u"}`,
		v.MarkKey("broken", nil):         `{"handler":`,
		v.MarkKey("number", nil):         int64(1),
		"my.example.com/rehandle":        `{"handler":"rehandle","version":"2","uid":"u"}`,
		"other.example.com/rehandle-a.b": `{"handler":"b","version":"2","uid":"u"}`,
	})
	want := []Mark{{Handler: "b", Version: "2", UID: "u"}, {Handler: long, Version: "3", UID: "u"}}
	if diff := cmp.Diff(want, v.Marks(obj)); diff != "" {
		t.Error(diff)
	}
	p := patch.NewPatch()
	v.RemoveMark(obj, long, "3", p)
	v.RemoveMark(obj, "b", "3", p)
	v.RemoveMark(obj, "unmarked", "2", p)
	if diff := cmp.Diff(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v.MarkKey(long, nil): nil}}}, p.Tree()); diff != "" {
		t.Error(diff)
	}
}

func TestVersions_AreNoPartOfTheEssence(t *testing.T) {
	v := Versions{Prefix: "my.example.com"}
	essence := markedObject(map[string]any{"my.example.com/handler-versions": "{}", v.MarkKey("a", nil): "{}", "app": "x"})
	if diff := cmp.Diff(markedObject(map[string]any{"app": "x"}), v.Clear(essence)); diff != "" {
		t.Error(diff)
	}
	for _, annotation := range []string{"kopf.zalando.org/handler-versions", "kopf.zalando.org/rehandle-handler.a"} {
		obj := map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: "{}"}}}
		if got := BuildEssence(obj, nil, nil); len(got) != 0 {
			t.Errorf("for Kopf for Python, the essence has %v", got)
		}
	}
}
