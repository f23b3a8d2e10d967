package resources

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var verbs = []string{"get", "list", "watch", "patch"}

func TestAResourceIsNamedByItsKey(t *testing.T) {
	pods := &Resource{Version: "v1", Plural: "pods", Subresources: []string{"status"}}
	jobs := &Resource{Group: "batch", Version: "v1", Plural: "jobs"}
	for _, tt := range []struct{ got, want string }{
		{pods.Key(), "pods.v1"}, {pods.APIVersion(), "v1"}, {pods.GVR().Resource, "pods"},
		{jobs.String(), "jobs.v1.batch"}, {jobs.APIVersion(), "batch/v1"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
	if !pods.HasSubresource("status") || jobs.HasSubresource("status") {
		t.Error("got wrong subresources")
	}
}

func TestASelectorIsShownInTheWordsItIsWrittenIn(t *testing.T) {
	for _, words := range [][]string{
		{"kex"}, {"v1", "pods"}, {"kopf.dev/v1", "kopfexamples"}, {"kopf.dev", "*"},
	} {
		s, err := ParseSelector(words...)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Join(words, " "); s.String() != want {
			t.Errorf("got %q, want %q", s, want)
		}
	}
	for s, want := range map[Selector]string{
		{Kind: "Pod"}:                        "kind=Pod",
		{Version: "v1", Category: "all"}:     "version=v1 category=all",
		{Core: true, Name: "pods"}:           `"" pods`,
		{Group: "kopf.dev", Shortcut: "kex"}: "kopf.dev shortcut=kex",
	} {
		if got := s.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMistakesInSelectorsAreTold(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  error
	}{
		{nil, ErrNoName},
		{[]string{""}, ErrNoName},
		{[]string{"v1", ""}, ErrNoName},
		{[]string{"a", "b", "c", "d"}, ErrManyWords},
	} {
		if _, err := ParseSelector(tt.words...); !errors.Is(err, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.words, err, tt.want)
		}
	}
	both := Selector{Name: "pods", Kind: "Pod"}
	if err := both.Validate(); !errors.Is(err, ErrManyNames) {
		t.Errorf("got %v, want %v", err, ErrManyNames)
	}
}

func TestEventsAreNeverAmongEverything(t *testing.T) {
	everything := Selector{Name: Everything}
	for _, group := range []string{"", "events.k8s.io"} {
		if everything.Match(&Resource{Group: group, Version: "v1", Plural: "events", Preferred: true}) {
			t.Errorf("got the events of %q", group)
		}
	}
	if !everything.Match(&Resource{Group: "calendars.example.com", Version: "v1", Plural: "events", Preferred: true}) {
		t.Error("events that are not those of Kubernetes are resources as all others")
	}
}

func TestAnAmbiguousResourceIsNotServedEvenIfAnotherHandlerIsClearAboutIt(t *testing.T) {
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

func TestAResourceThatCannotBePatchedIsServedWhereNoStateIsKept(t *testing.T) {
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
