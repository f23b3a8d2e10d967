package ownership

import (
	"net/http"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/children"
)

func TestClaim_SameValueByOthersKeepsOurEntry(t *testing.T) {
	a := settings(t)
	if got := a.lost(a.merge(tree{"data": tree{"a": "1"}})); got != nil {
		t.Errorf("a merge patch took %v", got)
	}
	if got := a.lost(a.update(a.path, func(tree) {})); got != nil {
		t.Errorf("an update took %v", got)
	}
	shared := a.bare(nil)
	shared["data"] = tree{"a": "1"}
	got := a.must(http.MethodPatch, a.path, applying, shared, "fieldManager", others)
	if got := a.lost(got); got != nil {
		t.Errorf("an apply took %v", got)
	}
}

func TestClaim_ChangedAndChangedBackLeavesOurEntry(t *testing.T) {
	a := settings(t)
	a.merge(tree{"data": tree{"a": "9"}})
	if got := a.lost(a.merge(tree{"data": tree{"a": "1"}})); !slices.Equal(got, []string{".data.a"}) {
		t.Errorf("our entry has lost %v", got)
	}
	if got := a.again(); got.code != http.StatusOK || a.lost(got) != nil {
		t.Errorf("apply: %d %v", got.code, got.body)
	}
}

func TestClaim_ApplyWithoutForceIsRefusedAndTakesNothing(t *testing.T) {
	a := settings(t)
	theirs := a.bare(nil)
	theirs["data"] = tree{"a": "9"}
	got := a.send(http.MethodPatch, a.path, applying, theirs, "fieldManager", others)
	if got.code != http.StatusConflict || !slices.Equal(got.causes(), []string{".data.a"}) {
		t.Errorf("apply by others: %d %v", got.code, got.body)
	}
	if again := a.again(); a.lost(again) != nil {
		t.Errorf("our entry has lost %v", a.lost(again))
	}
}

// TestClaim_FormsThatServersRewriteStayOurs applies values that the API server defaults or normalizes, a hundred times.
func TestClaim_FormsThatServersRewriteStayOurs(t *testing.T) {
	for name, f := range map[string]form{
		"quantities": {collection: "/api/v1/namespaces/NAMESPACE/limitranges", object: named("v1", "LimitRange", "limits", tree{
			"spec": tree{"limits": []any{tree{"type": "Pod", "max": tree{"cpu": "1000m", "memory": "1024Mi"}}}},
		})},
		"defaulted keys": builtinForm("Service"),
		"empty list": {collection: "/apis/rbac.authorization.k8s.io/v1/namespaces/NAMESPACE/rolebindings", object: named("rbac.authorization.k8s.io/v1", "RoleBinding", "none", tree{
			"roleRef": tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}, "subjects": []any{},
		})},
		"template": {collection: "/api/v1/namespaces/NAMESPACE/podtemplates", object: named("v1", "PodTemplate", "template", tree{"template": podTemplate()})},
	} {
		t.Run(name, func(t *testing.T) {
			a := newServer(t).applyNew(f.collection, f.object)
			first := text(a.watch.latest.Object, "metadata", "resourceVersion")
			for range 100 {
				if got := a.again(); got.version() != first {
					t.Fatalf("an apply of the same has made version %s of %s", got.version(), first)
				}
			}
		})
	}
}

func TestClaim_ReorderedItemsOfMapListKeepOurEntry(t *testing.T) {
	f := builtinForm("Deployment")
	a := newServer(t).applyNew(f.collection, f.object)
	got := a.update(a.path, func(live tree) {
		list := live["spec"].(tree)["template"].(tree)["spec"].(tree)["containers"].([]any)
		slices.Reverse(list)
	})
	if got := a.lost(got); got != nil {
		t.Errorf("our entry has lost %v: reordering counts as drift", got)
	}
	got = a.again()
	first := got.body["spec"].(tree)["template"].(tree)["spec"].(tree)["containers"].([]any)[0]
	if got.code != http.StatusOK || text(first, "name") != "web" {
		t.Errorf("apply: %d, and %v is first", got.code, text(first, "name"))
	}
}

func TestClaim_AdditionsByOthersAreNoDrift(t *testing.T) {
	f := builtinForm("Deployment")
	a := newServer(t).applyNew(f.collection, f.object)
	got := a.must(http.MethodPatch, a.path, strategic, partial(steps{"spec", "template", "spec", "containers", tree{"name": "third"}, "image"}, "x"), "fieldManager", others)
	if got := a.lost(got); got != nil {
		t.Errorf("our entry has lost %v", got)
	}
	got = a.again("force", "true")
	if n := len(got.body["spec"].(tree)["template"].(tree)["spec"].(tree)["containers"].([]any)); n != 3 {
		t.Errorf("%d containers are left by a forced apply", n)
	}
}

func TestClaim_KeysOfStringDataAreNeverOurs(t *testing.T) {
	a := newServer(t).applyNew("/api/v1/namespaces/NAMESPACE/secrets", named("v1", "Secret", "texts", tree{"stringData": tree{"a": "1", "b": "2"}}))
	if got := a.lost(a.merge(tree{"data": tree{"a": "OQ=="}})); got != nil {
		t.Errorf("our entry has lost %v", got)
	}
	delete(a.object["stringData"].(tree), "b")
	data, _ := a.again().body["data"].(tree)
	if data["a"] != "MQ==" || data["b"] != "Mg==" {
		t.Errorf("apply without a key leaves %v", data)
	}
}

// TestClaim_LastFieldOfSchemalessMapIsSeenInTheEventAlone has a case in which the claim does not hold: the rest of our entry
// could be an atomic map.
func TestClaim_LastFieldOfSchemalessMapIsSeenInTheEventAlone(t *testing.T) {
	s := newServer(t)
	group := s.define("emptieds", "Emptied", schemaless(), "v1")
	collection, object := customs(group, "v1", "emptieds", "Emptied")
	a := s.applyNew(collection, object)
	got := a.must(http.MethodPatch, a.path, patching, []any{tree{"op": "remove", "path": "/spec/free/deep/n"}}, "fieldManager", others)
	if lost := a.lost(got); !slices.Equal(lost, []string{".spec.free.deep.n"}) {
		t.Errorf("our entry has lost %v", lost)
	}
	if verdict, drift := a.watch.at(got.version()).judge(t, a.object); verdict != children.Covered {
		t.Errorf("the verdict is %s, with %v", verdict, drift)
	}
	again := a.again()
	spec, _ := again.body["spec"].(tree)
	deep, _ := spec["free"].(tree)["deep"].(tree)
	if again.code != http.StatusOK || deep["n"] != 1.0 {
		t.Errorf("apply: %d %v", again.code, again.body)
	}
}
