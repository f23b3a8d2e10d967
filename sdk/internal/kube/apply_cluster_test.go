package kube_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
)

var (
	configMaps  = &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}
	secrets     = &resources.Resource{Version: "v1", Plural: "secrets", Kind: "Secret", Namespaced: true}
	deployments = &resources.Resource{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment", Namespaced: true}
)

type tree = map[string]any

const (
	ours     = "kopf.dev/webapps.example.com"
	stranger = "00000000-0000-0000-0000-000000000000"
)

// applier applies objects in a namespace of its own.
type applier struct {
	t         *testing.T
	client    *kube.Client
	namespace string
}

func newApplier(t *testing.T) *applier {
	t.Helper()
	client := testcluster.Client(t, kube.ClientOptions{})
	return &applier{t, client, testcluster.Namespace(t, client)}
}

// as applies an object as a manager.
func (a *applier) as(manager string, res *resources.Resource, meta, fields tree, force bool) (*object.Object, error) {
	a.t.Helper()
	fields["apiVersion"], fields["kind"], fields["metadata"] = res.APIVersion(), res.Kind, meta
	body, err := json.Marshal(fields)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.client.Apply(a.t.Context(), res, kube.ApplyRequest{
		Namespace: a.namespace, Name: meta["name"].(string), Manager: manager, Force: force, Body: body,
	})
}

// must applies an object as ours.
func (a *applier) must(res *resources.Resource, meta, fields tree) *object.Object {
	a.t.Helper()
	got, err := a.as(ours, res, meta, fields, false)
	if err != nil {
		a.t.Fatal(err)
	}
	return got
}

// managers are the field managers of an object.
func managers(t *testing.T, o *object.Object) (names []string) {
	t.Helper()
	all, err := o.Tree()
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := object.Metadata(all)["managedFields"].([]any)
	for _, entry := range entries {
		names = append(names, fmt.Sprint(entry.(tree)["manager"]))
	}
	return names
}

func TestApply_CreatesUpdatesAndConflicts(t *testing.T) {
	a := newApplier(t)
	created, err := a.as(ours, configMaps, tree{"name": "a"}, tree{"data": tree{"x": "1", "y": "1"}}, false)
	if err != nil || !slices.Equal(managers(t, created), []string{ours}) {
		t.Fatalf("%+v, %v", created, err)
	}
	updated, err := a.as(ours, configMaps, tree{"name": "a"}, tree{"data": tree{"x": "2", "y": "1"}}, false)
	if err != nil || updated.UID != created.UID || updated.ResourceVersion == created.ResourceVersion {
		t.Fatalf("%+v, %v", updated, err)
	}
	_, err = a.as("other", configMaps, tree{"name": "a"}, tree{"data": tree{"x": "3", "y": "1"}}, false)
	if want := []kube.FieldConflict{{Field: ".data.x", Manager: ours}}; kube.Classify(err) != kube.Conflict || !slices.Equal(kube.Conflicts(err), want) {
		t.Errorf("%v: %v", kube.Conflicts(err), err)
	}
	forced, err := a.as("other", configMaps, tree{"name": "a"}, tree{"data": tree{"x": "3", "y": "1"}}, true)
	if err != nil || !slices.Equal(managers(t, forced), []string{ours, "other"}) {
		t.Errorf("%+v, %v", forced, err)
	}
	// An update has a time in the message of the conflict.
	if _, err := a.client.Patch(t.Context(), configMaps, a.namespace, "a", "", kube.MergePatch, []byte(`{"data":{"y":"9"}}`)); err != nil {
		t.Fatal(err)
	}
	_, err = a.as(ours, configMaps, tree{"name": "a"}, tree{"data": tree{"y": "1"}}, false)
	if got := kube.Conflicts(err); len(got) != 1 || got[0].Field != ".data.y" || !strings.HasPrefix(got[0].Manager, "kube.test") || strings.Contains(got[0].Manager, `"`) {
		t.Errorf("%v: %v", got, err)
	}
}

func TestApply_ConflictNamesSubresourceAndItem(t *testing.T) {
	a := newApplier(t)
	deployment := func(replicas int, image string) tree {
		return tree{"spec": tree{
			"replicas": replicas, "selector": tree{"matchLabels": tree{"app": "web"}},
			"template": tree{"metadata": tree{"labels": tree{"app": "web"}}, "spec": tree{"containers": []any{tree{"name": "web", "image": image}}}},
		}}
	}
	a.must(deployments, tree{"name": "web"}, deployment(1, "one"))
	if _, err := a.client.Patch(t.Context(), deployments, a.namespace, "web", "scale", kube.MergePatch, []byte(`{"spec":{"replicas":3}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.as("other", deployments, tree{"name": "web"}, tree{"spec": tree{"template": tree{"spec": tree{"containers": []any{tree{"name": "web", "image": "two"}}}}}}, true); err != nil {
		t.Fatal(err)
	}
	_, err := a.as(ours, deployments, tree{"name": "web"}, deployment(1, "one"), false)
	got := kube.Conflicts(err)
	slices.SortFunc(got, func(a, b kube.FieldConflict) int { return strings.Compare(a.Field, b.Field) })
	if len(got) != 2 || got[0].Field != ".spec.replicas" || got[0].Subresource != "scale" ||
		got[1] != (kube.FieldConflict{Field: `.spec.template.spec.containers[name="web"].image`, Manager: "other"}) {
		t.Errorf("%+v: %v", got, err)
	}
}

func TestApply_PreconditionsOfIdentity(t *testing.T) {
	a := newApplier(t)
	created := a.must(configMaps, tree{"name": "a"}, tree{"data": tree{"x": "1"}})
	for _, force := range []bool{false, true} {
		if _, err := a.as(ours, configMaps, tree{"name": "a", "uid": stranger}, tree{}, force); !kube.IsOtherUID(err) || kube.Classify(err) != kube.Invalid {
			t.Errorf("another uid, force %t: %v", force, err)
		}
	}
	if _, err := a.as(ours, configMaps, tree{"name": "a", "uid": created.UID, "resourceVersion": "1"}, tree{}, true); kube.IsOtherUID(err) || kube.Classify(err) != kube.Conflict || kube.Conflicts(err) != nil {
		t.Errorf("an old version: %v", err)
	}
	if err := a.client.Delete(t.Context(), configMaps, a.namespace, "a", kube.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, force := range []bool{false, true} {
		if _, err := a.as(ours, configMaps, tree{"name": "a", "uid": created.UID}, tree{}, force); !kube.IsOtherUID(err) || kube.Classify(err) != kube.Conflict || kube.Conflicts(err) != nil {
			t.Errorf("a deleted uid, force %t: %v", force, err)
		}
	}
}

func TestApply_FieldsOutsideTheSchemaArePermanentErrors(t *testing.T) {
	a := newApplier(t)
	for name, spec := range map[string]tree{"type": {"replicas": "x"}, "field": {"unknown": 1}} {
		_, err := a.as(ours, deployments, tree{"name": "web"}, tree{"spec": spec}, false)
		if kube.Status(err) != 500 || kube.Classify(err) != kube.Rejected || !kube.IsPermanent(err) || kube.IsRemovedVersion(err) {
			t.Errorf("%s: status %d, class %d: %v", name, kube.Status(err), kube.Classify(err), err)
		}
	}
}

func TestApply_RemovedVersionOfOurEntry(t *testing.T) {
	a := newApplier(t)
	examples := testcluster.Examples(t, a.client)
	definitions := &resources.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition"}
	// redefine serves one version, or two with the newer one stored.
	redefine := func(names ...string) {
		var versions []any
		for i, name := range names {
			versions = append(versions, tree{"name": name, "served": true, "storage": i == 0, "schema": tree{"openAPIV3Schema": tree{
				"type": "object", "x-kubernetes-preserve-unknown-fields": true,
			}}})
		}
		body, err := json.Marshal(tree{"spec": tree{"versions": versions}, "status": tree{"storedVersions": names[:1]}})
		if err != nil {
			t.Fatal(err)
		}
		for _, subresource := range []string{"", "status"} { // a stored version cannot be removed
			if _, err := a.client.Patch(t.Context(), definitions, "", examples.Plural+"."+examples.Group, subresource, kube.MergePatch, body); err != nil {
				t.Fatal(err)
			}
		}
	}
	newer := *examples
	newer.Version = "v2"
	redefine("v2", "v1")
	testcluster.Eventually(t, "the newer version is served", func() error {
		_, err := a.client.WithoutRetries().List(t.Context(), &newer, "", kube.ListOptions{Limit: 1})
		return err
	})
	a.must(examples, tree{"name": "a"}, tree{"spec": tree{"n": 1}})
	redefine("v2")
	testcluster.Eventually(t, "the older version is gone", func() error {
		_, err := a.client.WithoutRetries().List(t.Context(), examples, "", kube.ListOptions{Limit: 1})
		if kube.Classify(err) != kube.NotFound {
			return fmt.Errorf("list: %v", err)
		}
		return nil
	})
	_, err := a.as(ours, &newer, tree{"name": "a"}, tree{"spec": tree{"n": 1}}, true)
	if kube.Status(err) != 500 || !kube.IsRemovedVersion(err) || kube.Classify(err) != kube.Rejected || kube.IsPermanent(err) {
		t.Errorf("status %d, class %d: %v", kube.Status(err), kube.Classify(err), err)
	}
	if _, err := a.client.Patch(t.Context(), &newer, a.namespace, "a", "", kube.MergePatch, []byte(`{"metadata":{"managedFields":[{}]}}`)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.as(ours, &newer, tree{"name": "a"}, tree{"spec": tree{"n": 1}}, true); err != nil {
		t.Errorf("after the entries were cleared: %v", err)
	}
}

func TestMetadata_HidesContents(t *testing.T) {
	a := newApplier(t)
	a.must(secrets, tree{"name": "a", "labels": tree{"kopf.dev/owned-by": "x"}}, tree{"data": tree{"password": "c2VjcmV0"}})
	a.must(secrets, tree{"name": "b"}, tree{"data": tree{"password": "c2VjcmV0"}})
	check := func(how string, o *object.Object) {
		t.Helper()
		all, err := o.Tree()
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind != "Secret" || o.APIVersion != "v1" || all["kind"] != "Secret" || all["apiVersion"] != "v1" || o.Name != "a" || all["data"] != nil ||
			!slices.Equal(managers(t, o), []string{ours}) {
			t.Errorf("%s: %s", how, o.Raw)
		}
	}
	one, err := a.client.GetMetadata(t.Context(), secrets, a.namespace, "a")
	if err != nil {
		t.Fatal(err)
	}
	check("get", one)
	if _, err := a.client.GetMetadata(t.Context(), secrets, a.namespace, "c"); kube.Classify(err) != kube.NotFound {
		t.Error(err)
	}
	options := kube.ListOptions{LabelSelector: "kopf.dev/owned-by=x", MetadataOnly: true, KeepManagedFields: true}
	list, err := a.client.List(t.Context(), secrets, a.namespace, options)
	if err != nil || len(list.Items) != 1 || list.ResourceVersion == "" {
		t.Fatal(list, err)
	}
	check("list", list.Items[0])
}

func TestDelete_OnlyWhatMeetsThePreconditions(t *testing.T) {
	a := newApplier(t)
	o := a.must(configMaps, tree{"name": "a"}, tree{"data": tree{"x": "1"}})
	for _, c := range []struct {
		p        kube.DeleteOptions
		want     kube.Class
		otherUID bool
	}{
		{kube.DeleteOptions{UID: stranger}, kube.Conflict, true},
		{kube.DeleteOptions{UID: stranger, ResourceVersion: o.ResourceVersion}, kube.Conflict, true},
		{kube.DeleteOptions{UID: o.UID, ResourceVersion: "1"}, kube.Conflict, false},
		{kube.DeleteOptions{UID: o.UID, ResourceVersion: o.ResourceVersion}, kube.Unclassified, false},
		{kube.DeleteOptions{UID: o.UID, ResourceVersion: o.ResourceVersion}, kube.NotFound, false},
		{kube.DeleteOptions{}, kube.NotFound, false},
	} {
		err := a.client.Delete(t.Context(), configMaps, a.namespace, "a", c.p)
		if kube.Classify(err) != c.want || kube.IsOtherUID(err) != c.otherUID || c.want == kube.Unclassified && err != nil {
			t.Errorf("%+v: class %d, other uid %t: %v", c.p, kube.Classify(err), kube.IsOtherUID(err), err)
		}
	}
}
