package ownership

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// TestReset_ClearedManagedFieldsAreTrackedAgainAfterApply has all ways to clear managedFields. Then the API server tracks
// nothing until the next apply.
func TestReset_ClearedManagedFieldsAreTrackedAgainAfterApply(t *testing.T) {
	for name, clear := range map[string]func(a *applied) answer{
		"update with an empty list": func(a *applied) answer {
			return a.update(a.path, func(live tree) { live["metadata"].(tree)["managedFields"] = []any{} })
		},
		"merge patch with an empty entry": func(a *applied) answer {
			return a.merge(tree{"metadata": tree{"managedFields": []any{tree{}}}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := settings(t)
			cleared := clear(a)
			if got := a.watch.at(cleared.version()); len(got) != 0 {
				t.Fatalf("managedFields are %v", got)
			}
			changed := a.merge(tree{"data": tree{"a": "9"}})
			if got := a.watch.at(changed.version()); len(got) != 0 {
				t.Errorf("a change by others is tracked: %v", got)
			}

			refused := a.again()
			if refused.code != http.StatusConflict || !slices.Equal(refused.causes(), []string{".data.a"}) {
				t.Errorf("apply without force: %d %v", refused.code, refused.body)
			}
			forced := a.again("force", "true")
			after := a.watch.at(forced.version())
			if got := lost(a.before.ours(t), after.ours(t)); got != nil {
				t.Errorf("after a forced apply, our entry lacks %v", got)
			}
			if got := after.takers(t, ".data.b"); !slices.Equal(got, []string{"before-first-apply/Update"}) {
				t.Errorf("the other owners of an unchanged field are %v", got)
			}

			delete(a.object["data"].(tree), "b")
			if data := a.again().body["data"].(tree); data["b"] != "2" {
				t.Errorf("a field that we no longer apply is gone, in spite of its second owner: %v", data)
			}
			a.dropEntry("before-first-apply")
			a.object["data"].(tree)["c"] = "3"
			a.again()
			delete(a.object["data"].(tree), "c")
			if data := a.again().body["data"].(tree); data["c"] != nil {
				t.Errorf("a field that we no longer apply is still %v", data["c"])
			}
		})
	}
}

// dropEntry removes the entry of a manager, as an operator does that has become the owner again.
func (a *applied) dropEntry(manager string) {
	a.t.Helper()
	live := a.get(a.path)
	at := slices.IndexFunc(entriesOf(a.t, live), func(e entry) bool { return e.Manager == manager })
	pointer := fmt.Sprintf("/metadata/managedFields/%d", at)
	a.must(http.MethodPatch, a.path, patching, []any{
		tree{"op": "test", "path": "/metadata/resourceVersion", "value": text(live, "metadata", "resourceVersion")},
		tree{"op": "test", "path": pointer + "/manager", "value": manager},
		tree{"op": "remove", "path": pointer},
	})
}

// TestReset_OldCopyGivesBackOurEntryButNotOurValue has the case in which the claim does not hold: in an update, managedFields
// come from the client.
func TestReset_OldCopyGivesBackOurEntryButNotOurValue(t *testing.T) {
	a := settings(t)
	old := a.get(a.path)
	a.merge(tree{"data": tree{"a": "9"}})
	restored := a.update(a.path, func(live tree) {
		live["metadata"].(tree)["managedFields"] = old["metadata"].(tree)["managedFields"]
	})
	if got := a.lost(restored); got != nil {
		t.Errorf("our entry has lost %v", got)
	}
	if value := text(restored.body, "data", "a"); value != "9" {
		t.Errorf("the value is %s", value)
	}
	if got := a.again(); got.code != http.StatusOK || text(got.body, "data", "a") != "1" {
		t.Errorf("apply: %d %v", got.code, got.body)
	}
}

// TestReset_ReplacedObjectLosesWhatDiffers replaces an object with another text, without managedFields, as kubectl replace does.
func TestReset_ReplacedObjectLosesWhatDiffers(t *testing.T) {
	a := settings(t)
	other := named("v1", "ConfigMap", "settings", tree{"data": tree{"a": "1", "b": "9"}})
	delete(other["metadata"].(tree), "annotations")
	got := a.must(http.MethodPut, a.path, updating, other, "fieldManager", others)
	want := []string{".data.b", ".metadata.annotations.note"}
	if got := a.lost(got); !slices.Equal(got, want) {
		t.Errorf("our entry has lost %v, not %v", got, want)
	}
}

// TestReset_ApplyUnderOurNameTakesWhatItLeavesOut shows why a field manager belongs to one program.
func TestReset_ApplyUnderOurNameTakesWhatItLeavesOut(t *testing.T) {
	a := settings(t)
	other := a.bare(tree{"labels": tree{ownedBy: "settings"}})
	other["data"] = tree{"a": "1"}
	got := a.apply(a.path, other)
	want := []string{".data.b", ".metadata.annotations.note", ".metadata.labels.tier"}
	if got := a.lost(got); !slices.Equal(got, want) {
		t.Errorf("our entry has lost %v, not %v", got, want)
	}
	if text(got.body, "data", "b") != "" {
		t.Error("the field that the other program leaves out still exists")
	}
}

func TestReset_DeletedAndCreatedAgainIsNotOurs(t *testing.T) {
	a := settings(t)
	backup := a.get(a.path)
	a.must(http.MethodDelete, a.path, updating, nil)
	delete(backup["metadata"].(tree), "resourceVersion")
	delete(backup["metadata"].(tree), "uid")
	collection := a.path[:len(a.path)-len("/settings")]
	created := a.must(http.MethodPost, collection, updating, backup, "fieldManager", others)
	after := a.watch.at(created.version())
	if ours := after.ours(t); !ours.Equals(fieldpath.NewSet()) {
		t.Errorf("our entry has %v", ours)
	}
}
