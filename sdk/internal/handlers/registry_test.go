package handlers

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestRegistry_HandlersOfResource(t *testing.T) {
	var r Registry
	r.Add(&Handler{ID: "a", Family: Event, Selector: resources.Selector{Name: "pods"}})
	r.Add(&Handler{ID: "b", Family: Event, Selector: allKex()})
	r.Add(&Handler{ID: "c", Family: Timer, Selector: allKex()})
	r.Add(&Handler{ID: "d", Family: Startup})
	r.Add(&Handler{ID: "e", Family: Validate, Selector: allKex()})
	r.Add(&Handler{ID: "f", Family: Startup})
	set := r.ForResource(kex)
	if got := ids(set.all); !slices.Equal(got, []string{"b", "c", "e"}) {
		t.Errorf("got %q", got)
	}
	if !set.Has(Watching) || set.Has(Indexing) {
		t.Error("got wrong groups")
	}
	if got := ids(r.Activities(Startup)); !slices.Equal(got, []string{"d", "f"}) {
		t.Errorf("activities: got %q", got)
	}
	want := []resources.Demand{
		{Selector: resources.Selector{Name: "pods"}, Watch: true},
		{Selector: allKex(), Watch: true},
		{Selector: allKex(), Watch: true, Patch: true},
	}
	if diff := cmp.Diff(want, r.Demands()); diff != "" {
		t.Errorf("demands (-want +got):\n%s", diff)
	}
	if len(r.All()) != 6 {
		t.Errorf("got %d handlers in all", len(r.All()))
	}
}
