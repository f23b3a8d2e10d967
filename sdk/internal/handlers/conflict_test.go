package handlers

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestSet_ConflictsOfIDs(t *testing.T) {
	res := &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kexes", Preferred: true}
	other := &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "others", Preferred: true}
	notations := []resources.Selector{{Group: "kopf.dev", Version: "v1", Name: "kexes"}, {Group: "kopf.dev", Name: "kexes"}}
	for name, test := range map[string]struct {
		first, second Handler
		want          bool
	}{
		"two functions":                      {Handler{Family: Create, Fn: 1}, Handler{Family: Create, Fn: 2}, true},
		"one function":                       {Handler{Family: Create, Fn: 1}, Handler{Family: Create, Fn: 1}, false},
		"other ids":                          {Handler{Family: Create, Fn: 1}, Handler{Family: Create, Fn: 2, ID: "b"}, false},
		"other ids, one annotation":          {Handler{Family: Create, Fn: 1, ID: "a/b"}, Handler{Family: Create, Fn: 2, ID: "a.b"}, true},
		"one annotation for several causes":  {Handler{Family: Create, Fn: 1, ID: "a/b"}, Handler{Family: Update, Fn: 1, ID: "a.b"}, true},
		"one annotation, brackets":           {Handler{Family: Field, Fn: 1, ID: "a<b>c"}, Handler{Family: Update, Fn: 2, ID: "a_b_c"}, true},
		"daemons have no annotations":        {Handler{Family: Daemon, Fn: 1, ID: "a/b"}, Handler{Family: Timer, Fn: 2, ID: "a.b"}, false},
		"events have no annotations":         {Handler{Family: Create, Fn: 1, ID: "a/b"}, Handler{Family: Event, Fn: 2, ID: "a.b"}, false},
		"never for one cause":                {Handler{Family: Create, Fn: 1}, Handler{Family: Update, Fn: 2}, false},
		"a field, for all causes":            {Handler{Family: Field, Fn: 1}, Handler{Family: Update, Fn: 2}, true},
		"a field, for other causes":          {Handler{Family: Field, Fn: 1, Reasons: []Reason{ReasonCreate}}, Handler{Family: Update, Fn: 2}, false},
		"a creation before the start":        {Handler{Family: Resume, Fn: 1}, Handler{Family: Create, Fn: 2}, true},
		"resuming what is deleted":           {Handler{Family: Resume, Fn: 1, Deleted: true}, Handler{Family: Delete, Fn: 2}, true},
		"resuming only what is not deleted":  {Handler{Family: Resume, Fn: 1}, Handler{Family: Delete, Fn: 2}, false},
		"daemon and timer":                   {Handler{Family: Daemon, Fn: 1}, Handler{Family: Timer, Fn: 2}, true},
		"a daemon keeps nothing on objects":  {Handler{Family: Daemon, Fn: 1}, Handler{Family: Create, Fn: 2}, false},
		"events, which have no state to mix": {Handler{Family: Event, Fn: 1}, Handler{Family: Event, Fn: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var registry Registry
			for i, h := range []*Handler{&test.first, &test.second} {
				if h.ID == "" {
					h.ID = "a"
				}
				h.Selector, h.Source = notations[i], "/home/me/pkg/file.go:1"
				registry.Add(h)
			}
			if got := registry.ForResource(res).Conflicts(); len(got) > 0 != test.want {
				t.Errorf("%v", got)
			}
			if got := registry.ForResource(other).Conflicts(); len(got) > 0 {
				t.Errorf("of another resource: %v", got)
			}
		})
	}
}

func TestConflict_NamesBothPlaces(t *testing.T) {
	c := Conflict{
		&Handler{ID: "create", Family: Create, Source: "/home/me/one/a.go:1"}, &Handler{ID: "create", Family: Create, Source: "/home/me/two/b.go:2"},
	}
	want := "Handler 'create' (at one/a.go:1) and another one (at two/b.go:2) have the same id; give either handler another id with kopf.ID"
	if got := c.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestConflict_NamesBothIDs(t *testing.T) {
	c := Conflict{
		&Handler{ID: "a/b", Family: Create, Source: "/home/me/one/a.go:1"}, &Handler{ID: "a.b", Family: Update, Source: "/home/me/two/b.go:2"},
	}
	want := "Handler 'a/b' (at one/a.go:1) and Handler 'a.b' (at two/b.go:2) would keep their progress in the same annotation; give either handler another id with kopf.ID"
	if got := c.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
