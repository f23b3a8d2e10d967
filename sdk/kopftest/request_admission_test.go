package kopftest_test

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestAdmission_OperationFollowsFromObjects(t *testing.T) {
	type item struct {
		Spec struct {
			Size int `json:"size"`
		} `json:"spec"`
	}
	const small, large = `{metadata: {name: a, labels: {tier: gold}}, spec: {size: 1}}`, `{metadata: {name: a}, spec: {size: 2}}`
	created := kopftest.Admission[item](t, nil, small)
	if created.Operation != kopf.OperationCreate || created.Old != nil || created.Object.Spec.Size != 1 || created.Labels["tier"] != "gold" {
		t.Errorf("%+v", created)
	}
	changed := kopftest.Admission[item](t, small, large)
	changed.Warnf("%d", changed.Old.Spec.Size)
	changed.Patch.Set("spec.size", 3)
	if changed.Operation != kopf.OperationUpdate || changed.Object.Spec.Size != 2 || changed.Warnings[0] != "1" ||
		kopftest.Patched(t, changed.Patch).Get("spec.size") != int64(3) {
		t.Errorf("%+v", changed)
	}
	deleted := kopftest.Admission[item](t, small, nil)
	if deleted.Operation != kopf.OperationDelete || deleted.Object != nil || deleted.Old.Spec.Size != 1 || deleted.Name != "a" {
		t.Errorf("%+v", deleted)
	}
}

func TestTry_RefusalsAreReturned(t *testing.T) {
	t.Parallel()
	cluster := kopftest.New(t)
	configMap := func(name string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"a": "b"}}
	}
	if bad := cluster.TryCreate(configMap("Bad Name")); bad.Err == nil || !strings.Contains(bad.Err.Error(), "Bad Name") || bad.Object != nil {
		t.Errorf("%v, %v", bad.Err, bad.Object)
	}
	if dry := cluster.TryCreate(configMap("dry"), kopftest.DryRun()); dry.Err != nil || cluster.Object("configmaps", "dry").Exists() {
		t.Errorf("%v", dry.Err)
	}
	made := cluster.TryCreate(configMap("made"))
	if made.Err != nil || made.Object.Get("metadata.uid") == nil {
		t.Errorf("%v, %v", made.Err, made.Object)
	}
	object := cluster.Object("configmaps", "made")
	if patched := object.TryPatch(`data: {a: c}`); patched.Err != nil || patched.Object.Get("data.a") != "c" {
		t.Errorf("%v", patched.Err)
	}
	if none := object.TryPatch(`data: {}`, kopftest.InSubresource("status")); none.Err == nil {
		t.Error("ConfigMaps have no status")
	}
	if deleted := object.TryDelete(); deleted.Err != nil {
		t.Error(deleted.Err)
	}
	if again := object.TryDelete(); again.Err == nil {
		t.Error("it was deleted twice")
	}
}
