package ownership

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClaim_ChangedFieldLeavesOurEntry makes each change of each form in each way, and reads managedFields from a narrowed
// watch of metadata.
func TestClaim_ChangedFieldLeavesOurEntry(t *testing.T) {
	for _, f := range builtin {
		t.Run(f.name, func(t *testing.T) { f.test(newServer(t), f.collection) })
	}
}

func TestClaim_ChangedFieldOfCustomResourceLeavesOurEntry(t *testing.T) {
	t.Run("one version", func(t *testing.T) {
		s := newServer(t)
		group := s.define("structureds", "Structured", structuredSchema(), "v1")
		collection, object := customs(group, "v1", "structureds", "Structured")
		form{collection: collection, object: object, changes: slices.Concat(structured, free), custom: true}.test(s, collection)
	})
	t.Run("schemaless", func(t *testing.T) {
		s := newServer(t)
		group := s.define("frees", "Free", schemaless(), "v1")
		collection, object := customs(group, "v1", "frees", "Free")
		form{collection: collection, object: object, changes: free, custom: true}.test(s, collection)
	})
	t.Run("two versions, changed through the other one", func(t *testing.T) {
		s := newServer(t)
		group := s.define("doubles", "Double", structuredSchema(), "v2", "v1")
		collection, object := customs(group, "v1", "doubles", "Double")
		other, _ := customs(group, "v2", "doubles", "Double")
		form{collection: collection, object: object, changes: slices.Concat(structured, free), custom: true}.test(s, other)
	})
}

// define defines a custom resource that only the test uses, and returns its group.
func (s *server) define(plural, kind string, schema tree, versions ...string) string {
	s.t.Helper()
	group := s.cluster.Namespace + ".kopf.dev"
	text, err := json.Marshal(definition(group, plural, kind, schema, versions...))
	if err != nil {
		s.t.Fatal(err)
	}
	s.cluster.Apply(string(text))
	return group
}

// test makes all changes to objects of the form, each in all ways, at the URL of a collection.
func (f form) test(s *server, changed string) {
	for _, c := range slices.Concat(f.changes, marks) {
		for _, w := range ways {
			if f.custom && !w.custom || w.sets && (c.value == nil || c.removes) {
				continue
			}
			s.t.Run(c.name+" by "+w.name, func(t *testing.T) { f.try(s.with(t), changed, c, w) })
		}
	}
}

func (f form) try(s *server, changed string, c change, w way) {
	collection, path := f.paths(s.cluster.Namespace)
	_, target := form{collection: changed, object: f.object}.paths(s.cluster.Namespace)
	defer s.must(http.MethodDelete, path, updating, tree{"propagationPolicy": "Background", "gracePeriodSeconds": 0})
	watch := s.watch(collection, text(f.object, "metadata", "name")) // before controllers make another version
	created := s.apply(path, clone(f.object))
	if created.code != http.StatusCreated {
		s.t.Fatalf("apply: %d %v", created.code, created.body)
	}
	before := watch.at(created.version())

	after := watch.at(w.send(s, target, c.normal()).version())

	want := slices.Clone(c.lost)
	if diff := cmp.Diff(want, lost(before.ours(s.t), after.ours(s.t))); diff != "" {
		s.t.Errorf("our entry has lost (-want +got)\n%s", diff)
	}
	if added := lost(after.ours(s.t), before.ours(s.t)); added != nil {
		s.t.Errorf("our entry has gained %v", added)
	}
	if c.taken == "" {
		return
	}
	if got := after.takers(s.t, c.taken); !slices.Equal(got, []string{w.taker}) {
		s.t.Errorf("%s is owned by %v, not by %s", c.taken, got, w.taker)
	}
}

// normal returns a change of which the values are decoded JSON, and not shared.
func (c change) normal() change {
	copied := clone(tree{"path": c.path, "value": c.value})
	c.path, c.value = copied["path"].([]any), copied["value"]
	return c
}
