package handlers

import (
	"errors"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestSubregistry_IDStartsWithParent(t *testing.T) {
	parent := &Handler{ID: "fn/spec.f", Family: Field, Field: object.Path{"spec", "f"}}
	registered(parent)
	r := NewSubregistry(parent)
	for _, id := range []string{"a", "b"} {
		if err := r.Add(&Handler{ID: id, Field: object.Path{"spec", "f"}}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"fn/spec.f/a", "fn/spec.f/b"}
	if got := ids(r.Set().Selected(Changing, updated(spec("x"), spec("y")))); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSubregistry_ChangeRequiredAsByParent(t *testing.T) {
	for family, want := range map[Family]int{Update: 0, Create: 1} {
		parent := &Handler{ID: "fn", Family: family}
		registered(parent)
		r := NewSubregistry(parent)
		if err := r.Add(&Handler{ID: "a", Field: object.Path{"spec", "f"}}); err != nil {
			t.Fatal(err)
		}
		sub := r.Set().Handlers(Changing)[0]
		deeper := NewSubregistry(sub)
		if err := deeper.Add(&Handler{ID: "b", Field: object.Path{"spec", "f"}}); err != nil {
			t.Fatal(err)
		}
		for _, set := range []*Set{r.Set(), deeper.Set()} {
			if got := set.Selected(Changing, updated(spec("x"), spec("x"))); len(got) != want {
				t.Errorf("%s: got %q, want %d", family, ids(got), want)
			}
		}
	}
}

func TestSubregistry_RejectsDuplicateID(t *testing.T) {
	r := NewSubregistry(&Handler{ID: "fn", Family: Create})
	if err := r.Add(&Handler{ID: "a", Source: "/src/op/op.go:3"}); err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"/src/op/op.go:7": `sub-handler "fn/a" is added at op/op.go:3 and again at op/op.go:7; give each an id of its own`,
		"/src/op/op.go:3": `sub-handler "fn/a" is added twice at op/op.go:3; give each an id of its own`,
	} {
		var duplicate *duplicateError
		if err := r.Add(&Handler{ID: "a", Source: source}); !errors.As(err, &duplicate) || duplicate.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestSubregistry_ReportsMistakes(t *testing.T) {
	x := EqualStringCriterion("x")
	creation := NewSubregistry(&Handler{ID: "fn", Family: Create})
	if err := creation.Add(&Handler{ID: "a", Field: object.Path{"spec"}, Old: &x}); !errors.Is(err, errOldNew) {
		t.Errorf("got %v, want %v", err, errOldNew)
	}
	if err := creation.Add(&Handler{ID: "a", Value: &x}); !errors.Is(err, errFieldRequired) {
		t.Errorf("got %v, want %v", err, errFieldRequired)
	}
	update := NewSubregistry(&Handler{ID: "fn", Family: Update})
	if err := update.Add(&Handler{ID: "a", Field: object.Path{"spec"}, Old: &x}); err != nil {
		t.Error(err)
	}
}
