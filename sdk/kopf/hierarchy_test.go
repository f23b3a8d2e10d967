package kopf_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Job is a typed API object with a nested object.
type Job struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              JobSpec `json:"spec,omitempty"`

	cache []string // what is no JSON must survive
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

func owner(t testing.TB) *kopf.Change[kopf.Object] {
	t.Helper()
	body := object(t, `{"apiVersion":"kopf.dev/v1","kind":"KopfExample",
		"metadata":{"name":"own","namespace":"ns1","uid":"u1","labels":{"l1":"v1"}}}`)
	return &kopf.Change[kopf.Object]{Request: kopf.Request{Body: body}}
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
	ok(t, kopf.Adopt(job, owner(t), kopf.Strict(), kopf.Nested("spec.template", "spec.absent")))

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
	ok(t, kopf.Adopt(plain, owner(t)))
	ok(t, kopf.Adopt(dynamic, owner(t), kopf.Strict()))
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
	ok(t, kopf.Adopt(jobs, owner(t)))
	mixed := []any{tree{}, &unstructured.Unstructured{}, []*Job{{}}}
	ok(t, kopf.Adopt(mixed, owner(t)))
	for i, job := range append(jobs, mixed[2].([]*Job)...) {
		if job.GenerateName != "own-" || len(job.OwnerReferences) != 1 {
			t.Errorf("%d: got %v", i, job.ObjectMeta)
		}
	}
}

func TestAdopt_KeepsExistingValuesUnlessForced(t *testing.T) {
	job := &Job{}
	job.Name, job.Namespace, job.Labels = "mine", "there", map[string]string{"l1": "mine"}
	ok(t, kopf.Adopt(job, owner(t)))
	if job.Name != "mine" || job.Namespace != "there" || job.Labels["l1"] != "mine" {
		t.Errorf("got %v", job.ObjectMeta)
	}
	ok(t, kopf.Adopt(job, owner(t), kopf.Forced()))
	if job.Name != "" || job.GenerateName != "own-" || job.Namespace != "ns1" || job.Labels["l1"] != "v1" {
		t.Errorf("got %v", job.ObjectMeta)
	}
	if len(job.OwnerReferences) != 1 {
		t.Errorf("got %v", job.OwnerReferences)
	}
}

func TestHierarchy_PartsOfAdoptWorkAlone(t *testing.T) {
	job := &Job{}
	ok(t, kopf.AddLabels(job, map[string]string{"a": "b"}, kopf.Nested("spec.template")))
	ok(t, kopf.HarmonizeNaming(job, "named", kopf.Strict()))
	ok(t, kopf.AdjustNamespace(job, "ns2"))
	ok(t, kopf.AppendOwnerReference(job, owner(t).Body))
	if job.Name != "named" || job.Namespace != "ns2" || job.Labels["a"] != "b" || job.Spec.Template.Labels["a"] != "b" {
		t.Errorf("got %+v", job)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{ownReference}, job.OwnerReferences); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	ok(t, kopf.RemoveOwnerReference(job, owner(t)))
	ok(t, kopf.AdjustNamespace(job, "", kopf.Forced()))
	if len(job.OwnerReferences) != 0 || job.Namespace != "" {
		t.Errorf("got %v", job.ObjectMeta)
	}
	ref, err := kopf.OwnerReference(owner(t))
	ok(t, err)
	if diff := cmp.Diff(ownReference, ref); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestHierarchy_OptionsOfTheOwnerReference(t *testing.T) {
	want := ownReference
	want.Controller, want.BlockOwnerDeletion = new(false), new(false)
	options := []kopf.HierarchyOption{kopf.Controller(false), kopf.BlockOwnerDeletion(false)}
	adopted, appended := &Job{}, &Job{}
	ok(t, kopf.Adopt(adopted, owner(t), options...))
	ok(t, kopf.AppendOwnerReference(appended, owner(t), options...))
	ref, err := kopf.OwnerReference(owner(t), options...)
	ok(t, err)
	for name, got := range map[string][]metav1.OwnerReference{
		"Adopt": adopted.OwnerReferences, "AppendOwnerReference": appended.OwnerReferences, "OwnerReference": {ref},
	} {
		if diff := cmp.Diff([]metav1.OwnerReference{want}, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	ok(t, kopf.RemoveOwnerReference(adopted, owner(t)))
	if len(adopted.OwnerReferences) != 0 {
		t.Errorf("got %v", adopted.OwnerReferences)
	}
}

func TestHierarchy_InvalidDataAreErrors(t *testing.T) {
	ofNobody := func() error { _, err := kopf.OwnerReference(nil); return err }
	for want, err := range map[string]error{
		"adopt string: want a map[string]any":               kopf.Adopt("text", owner(t)),
		"adopt kopf_test.Job: want":                         kopf.Adopt(Job{}, owner(t)),
		"adopt <nil>: the object is nil":                    kopf.Adopt(nil, owner(t)),
		"the map is nil":                                    kopf.Adopt(tree(nil), owner(t)),
		"the object is nil":                                 kopf.Adopt((*Job)(nil), owner(t)),
		"element 1 (interface {}): want":                    kopf.Adopt([]any{tree{}, 5}, owner(t)),
		"a read-only view":                                  kopf.Adopt(owner(t).Body, owner(t)),
		"the owner is nil":                                  kopf.Adopt(tree{}, nil),
		"set the Body of a request made by hand":            kopf.Adopt(tree{}, &kopf.Change[kopf.Object]{}),
		"there is no name":                                  kopf.HarmonizeNaming(tree{}, ""),
		"the path of a nested object is empty":              kopf.AddLabels(tree{}, nil, kopf.Nested("")),
		"labels: not a Kubernetes object":                   kopf.AddLabels(tree{"metadata": tree{"labels": "x"}}, nil),
		"set the namespace of map[string]interface {}: ":    kopf.AdjustNamespace(tree{"metadata": 1}, "ns2"),
		"add an owner to map[string]interface {}: ":         kopf.AppendOwnerReference(tree{"metadata": tree{"ownerReferences": "x"}}, owner(t)),
		"remove an owner from map[string]interface {}: the": kopf.RemoveOwnerReference(tree{}, nil),
		"make an owner reference: the owner is nil":         ofNobody(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
