package resources

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResolve_AmbiguousResourceIsNeverServed(t *testing.T) {
	all := []Resource{
		{Group: "a.dev", Version: "v1", Plural: "kexes", Preferred: true, Verbs: verbs},
		{Group: "b.dev", Version: "v1", Plural: "kexes", Preferred: true, Verbs: verbs},
		{Group: "a.dev", Version: "v1", Plural: "others", Preferred: true, Verbs: verbs},
	}
	res := Resolve([]Demand{
		{Selector{Group: "a.dev", Name: "kexes"}, true, true},
		{Selector{Name: "kexes"}, true, false},
		{Selector{Name: "kexes"}, true, true},
		{Selector{Name: "others"}, true, true},
	}, all)
	if got := keys(res.Served); !slices.Equal(got, []string{"others.v1.a.dev"}) {
		t.Errorf("served: got %q", got)
	}
	want := []string{
		"Ambiguous resources will not be served (try specifying API groups): kexes => kexes.v1.a.dev, kexes.v1.b.dev",
		"Unresolved resources cannot be served (try creating their CRDs): a.dev kexes, kexes",
	}
	if diff := cmp.Diff(want, res.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestResolve_UnpatchableResourceIsServedWithoutState(t *testing.T) {
	all := []Resource{
		{Group: "a.dev", Version: "v1", Plural: "news", Preferred: true, Verbs: []string{"list", "watch"}},
		{Group: "a.dev", Version: "v1", Plural: "olds", Preferred: true, Verbs: []string{"list", "watch"}},
		{Group: "a.dev", Version: "v1", Plural: "asks", Preferred: true, Verbs: []string{"create"}},
	}
	res := Resolve([]Demand{
		{Selector{Name: "news"}, true, false},
		{Selector{Name: "olds"}, true, false},
		{Selector{Name: "olds"}, true, true},
		{Selector{Name: "asks"}, true, true},
		{Selector{Name: "asks"}, true, false},
	}, all)
	if got := keys(res.Served); !slices.Equal(got, []string{"news.v1.a.dev"}) {
		t.Errorf("served: got %q", got)
	}
	want := []string{
		"Non-watchable resources will not be served: asks.v1.a.dev",
		"Non-patchable resources will not be served: olds.v1.a.dev",
	}
	if diff := cmp.Diff(want, res.Warnings()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	admission := Resolve([]Demand{{Selector: Selector{Name: "asks"}}}, all)
	if got := keys(admission.Served); !slices.Equal(got, []string{"asks.v1.a.dev"}) {
		t.Errorf("served for admission: got %q", got)
	}
}

func TestResolve_ServesResourceWhoseDefinitionIsBeingDeleted(t *testing.T) {
	all := []Resource{{
		Group: "a.dev", Version: "v1", Plural: "kexes", Preferred: true,
		Verbs: []string{"delete", "deletecollection", "get", "list", "watch"}, // as the API server announces it
	}}
	res := Resolve([]Demand{{Selector{Name: "kexes"}, true, true}}, all)
	if got := keys(res.Served); !slices.Equal(got, []string{"kexes.v1.a.dev"}) || len(res.Warnings()) != 0 {
		t.Errorf("served: got %q, warnings: %q", got, res.Warnings())
	}
}
