package owner_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

// Job is a typed API object with a nested object.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              JobSpec `json:"spec,omitempty"`

	cache []string // outside of JSON; must survive
}

// JobSpec is the specification of a [Job].
type JobSpec struct {
	Parallelism int            `json:"parallelism,omitempty"`
	Template    PodTemplate    `json:"template"`
	Settings    map[string]any `json:"settings,omitempty"`
}

// PodTemplate is an object nested in a [Job].
type PodTemplate struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Image             string `json:"image,omitempty"`
}

type tree = map[string]any

func parent(t testing.TB) *kopf.Object {
	t.Helper()
	body, err := kopf.ObjectOf(tree{"apiVersion": "kopf.dev/v1", "kind": "KopfExample",
		"metadata": tree{"name": "own", "namespace": "ns1", "uid": "u1", "labels": tree{"l1": "v1"}}})
	ok(t, err)
	return body
}

var ownReference = metav1.OwnerReference{
	APIVersion: "kopf.dev/v1", Kind: "KopfExample", Name: "own", UID: "u1",
	Controller: new(true), BlockOwnerDeletion: new(true),
}

// ok fails the test if there is an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAdopt_TypedObject(t *testing.T) {
	job := &Job{Spec: JobSpec{Parallelism: 2, Template: PodTemplate{Image: "busybox"}}, cache: []string{"kept"}}
	job.Labels = map[string]string{"l1": "mine", "l2": "mine"}
	ok(t, owner.Adopt(job, parent(t), owner.Options{ExactName: true, Nested: []kopf.Path{"spec.template", "spec.absent"}}))

	want := &Job{Spec: JobSpec{Parallelism: 2, Template: PodTemplate{Image: "busybox"}}, cache: []string{"kept"}}
	want.Name, want.Namespace = "own", "ns1"
	want.Labels = map[string]string{"l1": "mine", "l2": "mine"}
	want.OwnerReferences = []metav1.OwnerReference{ownReference}
	want.Spec.Template.Labels = map[string]string{"l1": "v1"}
	if diff := cmp.Diff(want, job, cmp.AllowUnexported(Job{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAdopt_MapsAndUnstructuredObjects(t *testing.T) {
	plain := tree{"kind": "Pod"}
	dynamic := &unstructured.Unstructured{}
	ok(t, owner.Adopt(plain, parent(t), owner.Options{}))
	ok(t, owner.Adopt(dynamic, parent(t), owner.Options{ExactName: true}))
	meta := plain["metadata"].(tree)
	if meta["generateName"] != "own-" || meta["namespace"] != "ns1" {
		t.Errorf("got %v", meta)
	}
	if dynamic.GetName() != "own" || dynamic.GetNamespace() != "ns1" || dynamic.GetLabels()["l1"] != "v1" {
		t.Errorf("got %v", dynamic.Object)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{ownReference}, dynamic.GetOwnerReferences()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAdopt_Slices(t *testing.T) {
	jobs := []*Job{{}, {}}
	ok(t, owner.Adopt(jobs, parent(t), owner.Options{}))
	mixed := []any{tree{}, &unstructured.Unstructured{}, []*Job{{}}}
	ok(t, owner.Adopt(mixed, parent(t), owner.Options{}))
	for i, job := range append(jobs, mixed[2].([]*Job)...) {
		if job.GenerateName != "own-" || len(job.OwnerReferences) != 1 {
			t.Errorf("%d: got %v", i, job.ObjectMeta)
		}
	}
}

func TestAdopt_KeepsExistingValuesUnlessOverwrite(t *testing.T) {
	job := &Job{}
	job.Name, job.Namespace, job.Labels = "mine", "there", map[string]string{"l1": "mine"}
	ok(t, owner.Adopt(job, parent(t), owner.Options{}))
	if job.Name != "mine" || job.Namespace != "there" || job.Labels["l1"] != "mine" {
		t.Errorf("got %v", job.ObjectMeta)
	}
	ok(t, owner.Adopt(job, parent(t), owner.Options{Overwrite: true}))
	if job.Name != "" || job.GenerateName != "own-" || job.Namespace != "ns1" || job.Labels["l1"] != "v1" {
		t.Errorf("got %v", job.ObjectMeta)
	}
	if len(job.OwnerReferences) != 1 {
		t.Errorf("got %v", job.OwnerReferences)
	}
}

func TestOwner_PartsOfAdoptWorkAlone(t *testing.T) {
	job := &Job{}
	ok(t, owner.AddLabels(job, map[string]string{"a": "b"}, owner.Options{Nested: []kopf.Path{"spec.template"}}))
	ok(t, owner.HarmonizeNaming(job, "named", owner.Options{ExactName: true}))
	ok(t, owner.AdjustNamespace(job, "ns2", owner.Options{}))
	ok(t, owner.AppendReference(job, parent(t), owner.Options{}))
	if job.Name != "named" || job.Namespace != "ns2" || job.Labels["a"] != "b" || job.Spec.Template.Labels["a"] != "b" {
		t.Errorf("got %+v", job)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{ownReference}, job.OwnerReferences); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	ok(t, owner.RemoveReference(job, parent(t)))
	ok(t, owner.AdjustNamespace(job, "", owner.Options{Overwrite: true}))
	if len(job.OwnerReferences) != 0 || job.Namespace != "" {
		t.Errorf("got %v", job.ObjectMeta)
	}
	ref, err := owner.Reference(parent(t), owner.Options{})
	ok(t, err)
	if diff := cmp.Diff(ownReference, ref); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOwner_OptionsOfTheOwnerReference(t *testing.T) {
	want := ownReference
	want.Controller, want.BlockOwnerDeletion = new(false), new(false)
	options := owner.Options{NoController: true, NoBlocking: true}
	adopted, appended := &Job{}, &Job{}
	ok(t, owner.Adopt(adopted, parent(t), options))
	ok(t, owner.AppendReference(appended, parent(t), options))
	ref, err := owner.Reference(parent(t), options)
	ok(t, err)
	for name, got := range map[string][]metav1.OwnerReference{
		"Adopt": adopted.OwnerReferences, "AppendReference": appended.OwnerReferences, "Reference": {ref},
	} {
		if diff := cmp.Diff([]metav1.OwnerReference{want}, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	ok(t, owner.RemoveReference(adopted, parent(t)))
	if len(adopted.OwnerReferences) != 0 {
		t.Errorf("got %v", adopted.OwnerReferences)
	}
}

func TestOwner_InvalidDataAreErrors(t *testing.T) {
	ofNobody := func() error { _, err := owner.Reference(nil, owner.Options{}); return err }
	for want, err := range map[string]error{
		"adopt string: want a map[string]any":                     owner.Adopt("text", parent(t), owner.Options{}),
		"adopt owner_test.Job: want":                              owner.Adopt(Job{}, parent(t), owner.Options{}),
		"adopt <nil>: the object is nil":                          owner.Adopt(nil, parent(t), owner.Options{}),
		"the map is nil":                                          owner.Adopt(tree(nil), parent(t), owner.Options{}),
		"the object is nil":                                       owner.Adopt((*Job)(nil), parent(t), owner.Options{}),
		"element 1 (interface {}): want":                          owner.Adopt([]any{tree{}, 5}, parent(t), owner.Options{}),
		"a read-only view":                                        owner.Adopt(parent(t), parent(t), owner.Options{}),
		"set the Body of a request that is constructed in a test": owner.Adopt(tree{}, nil, owner.Options{}),
		"the owner has no metadata":                               owner.Adopt(tree{}, &kopf.Object{}, owner.Options{}),
		"there is no name":                                        owner.HarmonizeNaming(tree{}, "", owner.Options{}),
		"the path of a nested object is empty":                    owner.AddLabels(tree{}, nil, owner.Options{Nested: []kopf.Path{""}}),
		"labels: not a Kubernetes object":                         owner.AddLabels(tree{"metadata": tree{"labels": "x"}}, nil, owner.Options{}),
		"set the namespace of map[string]interface {}: ":          owner.AdjustNamespace(tree{"metadata": 1}, "ns2", owner.Options{}),
		"add an owner to map[string]interface {}: ":               owner.AppendReference(tree{"metadata": tree{"ownerReferences": "x"}}, parent(t), owner.Options{}),
		"remove an owner from map[string]interface {}: the":       owner.RemoveReference(tree{}, nil),
		"make an owner reference: the owner is nil":               ofNobody(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
