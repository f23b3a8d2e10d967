package ownership

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/children"
)

// redefine applies a changed definition.
func (s *server) redefine(definition tree) {
	s.t.Helper()
	text, err := json.Marshal(definition)
	if err != nil {
		s.t.Fatal(err)
	}
	s.cluster.Apply(string(text))
}

func TestVersion_SameManagerKeepsOneEntryInAnotherVersion(t *testing.T) {
	s := newServer(t)
	group := s.define("movers", "Mover", structuredSchema(), "v2", "v1")
	collection, object := customs(group, "v1", "movers", "Mover")
	a := s.applyNew(collection, object)
	other, newer := customs(group, "v2", "movers", "Mover")
	_, path := form{collection: other, object: newer}.paths(s.cluster.Namespace)
	after := a.watch.at(s.apply(path, newer).version())
	if n := len(slices.DeleteFunc(slices.Clone(after), func(e entry) bool { return e.Manager != ours })); n != 1 {
		t.Errorf("we have %d entries", n)
	}
	if after[0].APIVersion != group+"/v2" {
		t.Errorf("our entry has the version %s", after[0].APIVersion)
	}
}

func TestVersion_UnservedVersionIsStillTracked(t *testing.T) {
	s := newServer(t)
	group := s.define("hiddens", "Hidden", structuredSchema(), "v2", "v1")
	collection, object := customs(group, "v1", "hiddens", "Hidden")
	a := s.applyNew(collection, object)
	changed := definition(group, "hiddens", "Hidden", structuredSchema(), "v2", "v1")
	changed["spec"].(tree)["versions"].([]any)[1].(tree)["served"] = false
	s.redefine(changed)
	s.cluster.WaitUntil("v1 is not served", func() bool { return s.send(http.MethodGet, a.path, updating, nil).code == http.StatusNotFound })

	path := strings.Replace(a.path, "/v1/", "/v2/", 1)
	s.must(http.MethodPatch, path, merging, tree{"spec": tree{"size": "9Gi"}}, "fieldManager", others)
	if got := lost(a.before.ours(t), entriesOf(t, s.get(path)).ours(t)); !slices.Equal(got, []string{".spec.size"}) {
		t.Errorf("our entry has lost %v", got)
	}
}

// TestVersion_RemovedVersionStopsTrackingAndApplying has a case in which the claim does not hold, and its mend.
func TestVersion_RemovedVersionStopsTrackingAndApplying(t *testing.T) {
	s := newServer(t)
	group := s.define("removeds", "Removed", structuredSchema(), "v2", "v1")
	collection, object := customs(group, "v1", "removeds", "Removed")
	a := s.applyNew(collection, object)
	s.redefine(definition(group, "removeds", "Removed", structuredSchema(), "v2"))
	s.cluster.WaitUntil("v1 is gone", func() bool { return s.send(http.MethodGet, a.path, updating, nil).code == http.StatusNotFound })

	path := strings.Replace(a.path, "/v1/", "/v2/", 1)
	s.must(http.MethodPatch, path, merging, tree{"spec": tree{"size": "9Gi"}}, "fieldManager", others)
	if got := lost(a.before.ours(t), entriesOf(t, s.get(path)).ours(t)); got != nil {
		t.Errorf("our entry has lost %v", got)
	}
	_, newer := customs(group, "v2", "removeds", "Removed")
	for _, force := range []string{"false", "true"} {
		if got := s.apply(path, newer, "force", force); got.code != http.StatusInternalServerError {
			t.Errorf("force=%s: %d %v", force, got.code, got.body)
		}
	}
	s.must(http.MethodPatch, path, merging, tree{"metadata": tree{"managedFields": []any{tree{}}}}, "fieldManager", others)
	if got := s.apply(path, newer, "force", "true"); got.code != http.StatusOK || text(got.body, "spec", "size") != "1Gi" {
		t.Errorf("after managedFields are cleared: %d %v", got.code, got.body)
	}
}

// TestVersion_ListThatBecomesMapHidesItsItems has a case in which the claim does not hold: our entry still has the list as a
// whole.
func TestVersion_ListThatBecomesMapHidesItsItems(t *testing.T) {
	s := newServer(t)
	schemaWith := func(listType string) tree {
		list := tree{"type": "array", "x-kubernetes-list-type": listType, "items": tree{
			"type": "object", "required": []any{"name"}, "properties": tree{"name": tree{"type": "string"}, "value": tree{"type": "string"}},
		}}
		if listType == "map" {
			list["x-kubernetes-list-map-keys"] = []any{"name"}
		}
		return tree{"type": "object", "properties": tree{"spec": tree{"type": "object", "properties": tree{"list": list}}}}
	}
	group := s.define("lists", "Listing", schemaWith("atomic"), "v1")
	object := named(group+"/v1", "Listing", "thing", tree{"spec": tree{"list": []any{tree{"name": "x", "value": "1"}}}})
	a := s.applyNew("/apis/"+group+"/v1/namespaces/NAMESPACE/lists", object)
	s.redefine(definition(group, "lists", "Listing", schemaWith("map"), "v1"))
	s.cluster.WaitUntil("the list is a map", func() bool {
		probe := clone(object)
		probe["metadata"] = tree{"name": "probe"}
		got := s.apply(strings.TrimSuffix(a.path, "thing")+"probe", probe, "dryRun", "All")
		return slices.Contains(entriesOf(t, got.body).takersOfOurs(t), `.spec.list[name="x"].value`)
	})

	changed := a.merge(tree{"spec": tree{"list": []any{tree{"name": "x", "value": "9"}}}})
	if got := a.lost(changed); got != nil {
		t.Errorf("our entry has lost %v", got)
	}
	verdict, drift := a.watch.at(changed.version()).judge(t, a.object)
	if verdict != children.Drifted || len(drift) != 1 || drift[0].Path != "spec.list[x].value" || drift[0].Manager != others {
		t.Errorf("the verdict is %s, with %v", verdict, drift)
	}
	got := a.again("force", "true")
	value := text(got.body["spec"].(tree)["list"].([]any)[0], "value")
	if got.code != http.StatusOK || value != "1" {
		t.Errorf("apply: %d, the value is %s", got.code, value)
	}
}

// takersOfOurs returns the paths of our own entry.
func (all entries) takersOfOurs(t *testing.T) []string {
	t.Helper()
	return lost(all.ours(t), entries{}.ours(t))
}
