package kopf_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestPathOf_KeepsKeysAsTheyAre(t *testing.T) {
	for _, keys := range [][]string{
		{"spec", "size"}, {"metadata", "labels", "app.kubernetes.io/name"}, {"data", "0"}, {"data", "a]b[", "c"},
		{"data", ""}, {"data", `"quoted"`, `"."`}, {"0"}, {"a.b", "c.d"}, {"spec", "items", "[0]", "name"},
	} {
		if got := kopf.PathOf(keys...).Keys(); !slices.Equal(got, keys) {
			t.Errorf("%q: %q as %s", keys, got, kopf.PathOf(keys...))
		}
	}
	if got := kopf.PathOf(); got != "" {
		t.Errorf("no keys: %s", got)
	}
}

// refused are the paths that name no field which a patch can set or a handler can watch.
var refused = map[kopf.Path]string{
	"spec.items[0]":                          `name the list "spec.items", or the key 0 as "spec.items.0"`,
	"spec.items[0].name":                     "index of a list item",
	"data[0]":                                `"data.0"`,
	"metadata.annotations[123]":              `"metadata.annotations.123"`,
	"metadata.labels.app.kubernetes.io/name": `in brackets: "metadata.labels[app.kubernetes.io/name]"`,
	"metadata.annotations.a.b":               `"metadata.annotations[a.b]"`,
}

func TestPatch_RefusesPathsIntoListsAndLabels(t *testing.T) {
	for path, want := range refused {
		p := kopf.NewPatch(nil)
		for method, f := range map[string]func(){"Set": func() { p.Set(path, "z") }, "Remove": func() { p.Remove(path) }} {
			if got := panics(t, f); !strings.Contains(got, want) || !strings.Contains(got, "kopf.Patch."+method) {
				t.Errorf("%s(%s): got %s", method, path, got)
			}
		}
		if got := changesOf(t, p); len(got) > 0 {
			t.Errorf("%s: got %v", path, got)
		}
	}
}

func TestField_RefusesPathsIntoListsAndLabels(t *testing.T) {
	pods := kopf.Resource("v1", "pods")
	for path, want := range refused {
		r := &kopf.Registry{}
		kopf.OnField(r, pods, path, func(context.Context, *kopf.FieldChange[string]) error { return nil }, kopf.ID("a"))
		kopf.OnCreate(r, pods, func(context.Context, *kopf.Change[kopf.Object]) error { return nil }, kopf.ID("b"), kopf.Field(path))
		if err := r.Err(); err == nil || strings.Count(err.Error(), want) != 2 {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

func TestPatch_RefusesToReplaceWhatHasNoFields(t *testing.T) {
	const body = `{"metadata":{"labels":{"a":"b"}},"spec":{"items":[{"name":"x"}],"size":3,"on":false,"none":null,"map":{"list":[1]}}}`
	wire, err := kopf.ObjectOf(tree{"spec": tree{"items": []any{1}}})
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func(p *kopf.Patch){
		"spec.items is a list":               func(p *kopf.Patch) { p.Set("spec.items.name", "y") },
		"set spec.map.list as a whole":       func(p *kopf.Patch) { p.Set("spec.map.list.a.b", "y") },
		"spec.size is a number":              func(p *kopf.Patch) { p.Remove("spec.size.unit") },
		"spec.on is a boolean":               func(p *kopf.Patch) { p.Set("spec.on.at", 1) },
		"spec.new is a list":                 func(p *kopf.Patch) { p.Set("spec.new", []int{1}); p.Set("spec.new.a", 1) },
		"labels are strings; got a number":   func(p *kopf.Patch) { p.Set("metadata.labels.x", 5) },
		"annotations are strings; got a map": func(p *kopf.Patch) { p.Set("metadata.annotations.x", tree{}) },
	} {
		if got := panics(t, func() { f(kopf.NewPatch(object(t, body))) }); !strings.Contains(got, want) {
			t.Errorf("%s: got %s", want, got)
		}
	}
	if got := panics(t, func() { kopf.NewPatch(wire).Set("spec.items.a", 1) }); !strings.Contains(got, "spec.items is a list") {
		t.Errorf("got %s", got)
	}

	p := kopf.NewPatch(object(t, body))
	p.Set("spec.none.a", 1)
	p.Set("spec.map.a", 1)
	p.Set("spec.absent.a.b", 1)
	p.Remove("spec.size")
	p.Set("spec.size.a", 1) // the map replaces the number
	p.Set("spec.items", tree{"a": 1})
	p.Set("spec.items.b", 2) // the list is a map by now
	p.SetLabel("app.kubernetes.io/name", "x")
	p.SetAnnotation("example.com/0", "y")
	p.Remove("metadata.labels.a")
	want := tree{
		"spec": tree{
			"none": tree{"a": 1.0}, "map": tree{"a": 1.0}, "absent": tree{"a": tree{"b": 1.0}}, "size": tree{"a": 1.0},
			"items": tree{"a": 1.0, "b": 2.0},
		},
		"metadata": tree{
			"labels":      tree{"app.kubernetes.io/name": "x", "a": nil},
			"annotations": tree{"example.com/0": "y"},
		},
	}
	if diff := cmp.Diff(want, changesOf(t, p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
