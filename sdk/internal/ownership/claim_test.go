package ownership

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/children"
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
	object := clone(f.object)
	object["metadata"].(tree)["resourceVersion"] = noVersion
	created := s.apply(path, object)
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
	f.judge(s, after, c, w)
	f.yield(s, path, after)
	if c.taken == "" {
		return
	}
	if got := after.takers(s.t, c.taken); !slices.Equal(got, []string{w.taker}) {
		s.t.Errorf("%s is owned by %v, not by %s", c.taken, got, w.taker)
	}
}

// judge checks that the package children comes to the same verdict as the sets of fields.
func (f form) judge(s *server, after entries, c change, w way) {
	s.t.Helper()
	verdict, drift := after.judge(s.t, f.object)
	if drifted := verdict == children.Drifted; drifted != (c.lost != nil) {
		s.t.Errorf("the verdict is %s, with %v", verdict, drift)
	}
	for _, d := range drift {
		taker := ""
		if d.Manager != "" {
			taker = d.Manager + "/" + d.Operation
		}
		if want := w.taker; c.taken == "" && taker != "" || c.taken != "" && taker != want {
			s.t.Errorf("%s is said to be taken by %q", d.Path, taker)
		}
	}
}

// yield applies the object without the fields that conflict. This neither conflicts nor gives up fields but the maps that got
// empty.
func (f form) yield(s *server, path string, after entries) {
	s.t.Helper()
	refused := s.apply(path, clone(f.object))
	if refused.code != http.StatusConflict {
		return
	}
	u := &unstructured.Unstructured{Object: f.object}
	desired, err := children.Encode(u, u.GroupVersionKind())
	if err != nil {
		s.t.Fatal(err)
	}
	rest, err := children.Without(desired, refused.causes())
	if err != nil {
		s.t.Fatal(err)
	}
	got := s.apply(path, rest)
	if got.code != http.StatusOK {
		s.t.Fatalf("apply without %v: %d %v", refused.causes(), got.code, got.body)
	}
	for _, given := range lost(after.ours(s.t), entriesOf(s.t, got.body).ours(s.t)) {
		if !slices.ContainsFunc(refused.causes(), func(cause string) bool { return strings.HasPrefix(cause, given+".") }) {
			s.t.Errorf("without %v, our entry has lost %s", refused.causes(), given)
		}
	}
}

// judge returns the verdict of the package children on an object that we have applied.
func (all entries) judge(t *testing.T, object tree) (children.Ownership, []children.Drift) {
	t.Helper()
	u := &unstructured.Unstructured{Object: object}
	desired, err := children.Encode(u, u.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := children.Entries(all.raw(t))
	if err != nil {
		t.Fatal(err)
	}
	return children.Judge(recorded, ours, desired)
}

// normal returns a change of which the values are decoded JSON, and not shared.
func (c change) normal() change {
	copied := clone(tree{"path": c.path, "value": c.value})
	c.path, c.value = copied["path"].([]any), copied["value"]
	return c
}
