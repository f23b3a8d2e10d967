package ownership

import (
	"net/http"
	"slices"
	"testing"
)

// withUID returns the object with a uid, which the API server checks before it applies.
func (a *applied) withUID(uid string) tree {
	object := clone(a.object)
	object["metadata"].(tree)["uid"] = uid
	return object
}

const stranger = "00000000-0000-0000-0000-000000000000"

func TestPrecondition_UIDOfNamesakeIsRefused(t *testing.T) {
	a := settings(t)
	for _, force := range []string{"false", "true"} {
		got := a.apply(a.path, a.withUID(stranger), "force", force)
		if got.code != http.StatusUnprocessableEntity || !slices.Equal(got.causes(), []string{"metadata.uid"}) {
			t.Errorf("force=%s: %d %v", force, got.code, got.body)
		}
	}
	if got := a.apply(a.path, a.withUID(a.uid())); got.code != http.StatusOK {
		t.Errorf("with its own uid: %d %v", got.code, got.body)
	}
}

func TestPrecondition_UIDOfDeletedObjectIsRefused(t *testing.T) {
	a := settings(t)
	uid := a.uid()
	version := text(a.watch.latest.Object, "metadata", "resourceVersion")
	a.must(http.MethodDelete, a.path, updating, nil)
	for _, force := range []string{"false", "true"} {
		got := a.apply(a.path, a.withUID(uid), "force", force)
		if got.code != http.StatusConflict || got.causes() != nil {
			t.Errorf("force=%s: %d %v", force, got.code, got.body)
		}
	}
	withdrawal := a.bare(tree{"uid": uid})
	if got := a.apply(a.path, withdrawal); got.code != http.StatusConflict {
		t.Errorf("empty apply with uid: %d", got.code)
	}

	object := clone(a.object)
	object["metadata"].(tree)["resourceVersion"] = version
	if got := a.apply(a.path, object); got.code != http.StatusCreated {
		t.Errorf("a resourceVersion without a uid: %d; it creates the object again", got.code)
	}
}

// noVersion is a resourceVersion that no object has.
const noVersion = "1"

// Each form is created in this way, too: see [form.try].
func TestPrecondition_VersionOfNoObjectOnlyCreates(t *testing.T) {
	a := settings(t)
	object := clone(a.object)
	object["metadata"].(tree)["resourceVersion"] = noVersion
	for _, force := range []string{"false", "true"} {
		got := a.apply(a.path, object, "force", force)
		if got.code != http.StatusConflict || got.causes() != nil {
			t.Errorf("force=%s: %d %v", force, got.code, got.body)
		}
	}
	a.must(http.MethodDelete, a.path, updating, nil)
	if got := a.apply(a.path, object); got.code != http.StatusCreated {
		t.Errorf("after the deletion: %d %v", got.code, got.body)
	}
}

func TestPrecondition_OldVersionIsRefused(t *testing.T) {
	a := settings(t)
	object := a.withUID(a.uid())
	object["metadata"].(tree)["resourceVersion"] = text(a.watch.latest.Object, "metadata", "resourceVersion")
	a.merge(tree{"data": tree{"a": "9"}})
	got := a.apply(a.path, object, "force", "true")
	if got.code != http.StatusConflict || got.causes() != nil {
		t.Errorf("forced apply: %d %v", got.code, got.body)
	}
}

func TestWithdrawal_EmptyApplyRemovesWhatOnlyWeOwn(t *testing.T) {
	a := settings(t)
	a.merge(tree{"data": tree{"theirs": "1"}})
	shared := a.bare(nil)
	shared["data"] = tree{"b": "2"}
	a.must(http.MethodPatch, a.path, applying, shared, "fieldManager", others)

	got := a.apply(a.path, a.bare(tree{"uid": a.uid()}))
	data, _ := got.body["data"].(tree)
	if got.code != http.StatusOK || len(data) != 2 || data["theirs"] != "1" || data["b"] != "2" {
		t.Errorf("empty apply: %d, leaving %v", got.code, data)
	}
	if labels := text(got.body, "metadata", "labels", ownedBy); labels != "" {
		t.Errorf("the label is still %s", labels)
	}
}

func TestWithdrawal_EmptyApplyWithoutUIDCreates(t *testing.T) {
	a := settings(t)
	a.must(http.MethodDelete, a.path, updating, nil)
	if got := a.apply(a.path, a.bare(nil)); got.code != http.StatusCreated {
		t.Errorf("empty apply: %d", got.code)
	}
}

func TestWatch_RemovedLabelArrivesAsDeletion(t *testing.T) {
	a := settings(t)
	a.merge(tree{"metadata": tree{"labels": tree{ownedBy: nil}}})
	for a.watch.next().Type != "DELETED" {
	}
	if label := text(a.watch.latest.Object, "metadata", "labels", ownedBy); label == "" {
		t.Error("the event lacks the former label, so that it could be told from a deletion")
	}
	if got := lost(a.before.ours(t), entriesOf(t, a.watch.latest.Object).ours(t)); got != nil {
		t.Errorf("the event has a newer entry, without %v", got)
	}
}
