package kopf_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// changesOf returns the changes of a patch.
func changesOf(t testing.TB, p *kopf.Patch) (changes tree) {
	t.Helper()
	raw, err := p.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(raw, &changes)
	}
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// panics returns the value that a function panics with, and fails if it does not panic.
func panics(t testing.TB, f func()) (message string) {
	t.Helper()
	defer func() {
		if value := recover(); value != nil {
			message = fmt.Sprint(value)
			return
		}
		t.Error("no panic")
	}()
	f()
	return ""
}

func TestPatch_CollectsSetAndRemove(t *testing.T) {
	p := kopf.NewPatch(nil)
	p.Set("spec.size", 5)
	p.Set("metadata.labels[app.kubernetes.io/name]", "x")
	p.Set("status.conditions", []struct{ Type string }{{"Ready"}})
	p.Remove("spec.old")
	want := tree{
		"spec":     tree{"size": 5.0, "old": nil},
		"metadata": tree{"labels": tree{"app.kubernetes.io/name": "x"}},
		"status":   tree{"conditions": []any{tree{"Type": "Ready"}}},
	}
	if diff := cmp.Diff(want, changesOf(t, p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPatch_MistakesPanic(t *testing.T) {
	for want, f := range map[string]func(p *kopf.Patch){
		"the whole object cannot be replaced": func(p *kopf.Patch) { p.Set("", 1) },
		`Patch.Set("spec[")`:                  func(p *kopf.Patch) { p.Set("spec[", 1) },
		`Patch.Set("spec.a")`:                 func(p *kopf.Patch) { p.Set("spec.a", make(chan int)) },
		"Edit of a": func(p *kopf.Patch) {
			kopf.Edit(p, func(*struct {
				Spec int `json:"spec"`
			}) {
			})
		},
		"does not encode as a JSON object": func(p *kopf.Patch) { kopf.Edit(p, func(v *any) { *v = "text" }) },
	} {
		t.Run(want, func(t *testing.T) {
			p := kopf.NewPatch(object(t, `{"spec":{"size":3}}`))
			if got := panics(t, func() { f(p) }); !strings.Contains(got, want) {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestPatch_NilDiscardsChanges(t *testing.T) {
	var p *kopf.Patch
	p.Set("spec.size", 5)
	p.Remove("spec.size")
	called := false
	kopf.Edit(p, func(*claim) { called = true })
	if diff := cmp.Diff(tree{}, changesOf(t, p)); diff != "" || !called {
		t.Errorf("called: %v (-want +got)\n%s", called, diff)
	}
	panics(t, func() { p.Set("spec[", 1) })
}

type claim struct {
	Spec struct {
		Size  int               `json:"size"`
		Tags  map[string]string `json:"tags,omitempty"`
		Items []item            `json:"items,omitempty"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

type item struct {
	Name string `json:"name"`
}

func TestEdit_MinimalChanges(t *testing.T) {
	const stored = `{"spec":{"size":3,"tags":{"a":"1","b":"2"},"items":[{"name":"x","unknown":1}],"unknown":{"deep":true}}}`
	for name, test := range map[string]struct {
		edit func(*claim)
		want tree
	}{
		"nothing":                   {func(*claim) {}, tree{}},
		"a field":                   {func(c *claim) { c.Spec.Size = 5 }, tree{"spec": tree{"size": 5.0}}},
		"a field of another struct": {func(c *claim) { c.Status.Phase = "Bound" }, tree{"status": tree{"phase": "Bound"}}},
		"a key of a map":            {func(c *claim) { c.Spec.Tags["c"] = "3" }, tree{"spec": tree{"tags": tree{"c": "3"}}}},
		"a removed key":             {func(c *claim) { delete(c.Spec.Tags, "a") }, tree{"spec": tree{"tags": tree{"a": nil}}}},
		"a removed map":             {func(c *claim) { c.Spec.Tags = nil }, tree{"spec": tree{"tags": nil}}},
		"a list": {
			func(c *claim) { c.Spec.Items = append(c.Spec.Items, item{"y"}) },
			tree{"spec": tree{"items": []any{tree{"name": "x"}, tree{"name": "y"}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := kopf.NewPatch(object(t, stored))
			kopf.Edit(p, test.edit)
			if diff := cmp.Diff(test.want, changesOf(t, p)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestEdit_IncludesEarlierChanges(t *testing.T) {
	p := kopf.NewPatch(object(t, `{"spec":{"size":3,"tags":{"a":"1"}}}`))
	p.Set("spec.size", 4)
	p.Remove("spec.tags.a")
	kopf.Edit(p, func(c *claim) {
		if c.Spec.Size != 4 || len(c.Spec.Tags) != 0 {
			t.Errorf("got %+v", c.Spec)
		}
		c.Spec.Size++
	})
	if diff := cmp.Diff(tree{"spec": tree{"size": 5.0, "tags": tree{"a": nil}}}, changesOf(t, p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestEdit_NilObjectIsEmpty(t *testing.T) {
	p := kopf.NewPatch(nil)
	kopf.Edit(p, func(c *claim) { c.Status.Phase = "New" })
	if diff := cmp.Diff(tree{"status": tree{"phase": "New"}}, changesOf(t, p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTransform_NilPatchGetsZeroValue(t *testing.T) {
	var p *kopf.Patch
	called := false
	kopf.Transform(p, func(c *struct{}) { called = c != nil })
	if !called {
		t.Error("it is not called")
	}
}

func TestPatch_SetCopiesValue(t *testing.T) {
	shared := map[string]any{"a": map[string]any{"b": "c"}, "list": []any{"x"}}
	p := kopf.NewPatch(nil)
	p.Set("spec", shared)
	p.Set("spec.a.b", "d")
	p.Set("spec.new", true)
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"b": "c"}, "list": []any{"x"}}, shared); diff != "" {
		t.Error(diff)
	}
}
