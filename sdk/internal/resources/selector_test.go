package resources

import (
	"errors"
	"strings"
	"testing"
)

func TestSelector_StringIsParseable(t *testing.T) {
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

func TestParseSelector_Errors(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  error
	}{
		{nil, errNoName},
		{[]string{""}, errNoName},
		{[]string{"v1", ""}, errNoName},
		{[]string{"a", "b", "c", "d"}, errManyWords},
	} {
		if _, err := ParseSelector(tt.words...); !errors.Is(err, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.words, err, tt.want)
		}
	}
	both := Selector{Name: "pods", Kind: "Pod"}
	if err := both.Validate(); !errors.Is(err, errManyNames) {
		t.Errorf("got %v, want %v", err, errManyNames)
	}
}

func TestSelector_EverythingExcludesEvents(t *testing.T) {
	all := Selector{Name: Everything}
	for _, group := range []string{"", "events.k8s.io"} {
		if all.Match(&Resource{Group: group, Version: "v1", Plural: "events", Preferred: true}) {
			t.Errorf("got the events of %q", group)
		}
	}
	if !all.Match(&Resource{Group: "calendars.example.com", Version: "v1", Plural: "events", Preferred: true}) {
		t.Error("events that are not those of Kubernetes are resources as all others")
	}
}
