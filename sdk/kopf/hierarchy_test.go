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

func TestAdopt_TypedObject(t *testing.T) {
	job := &Job{Spec: JobSpec{Parallelism: 2, Template: PodTemplate{Image: "busybox"}}, cache: []string{"kept"}}
	job.Labels = map[string]string{"l1": "mine", "l2": "mine"}
	kopf.Adopt(job, owner(t), kopf.Strict(), kopf.Nested("spec.template", "spec.absent"))

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
	kopf.Adopt(plain, owner(t))
	kopf.Adopt(dynamic, owner(t), kopf.Strict())
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
	kopf.Adopt(jobs, owner(t))
	mixed := []any{tree{}, &unstructured.Unstructured{}, []*Job{{}}}
	kopf.Adopt(mixed, owner(t))
	for i, job := range append(jobs, mixed[2].([]*Job)...) {
		if job.GenerateName != "own-" || len(job.OwnerReferences) != 1 {
			t.Errorf("%d: got %v", i, job.ObjectMeta)
		}
	}
}

func TestAdopt_KeepsExistingValuesUnlessForced(t *testing.T) {
	job := &Job{}
	job.Name, job.Namespace, job.Labels = "mine", "there", map[string]string{"l1": "mine"}
	kopf.Adopt(job, owner(t))
	if job.Name != "mine" || job.Namespace != "there" || job.Labels["l1"] != "mine" {
		t.Errorf("got %v", job.ObjectMeta)
	}
	kopf.Adopt(job, owner(t), kopf.Forced())
	if job.Name != "" || job.GenerateName != "own-" || job.Namespace != "ns1" || job.Labels["l1"] != "v1" {
		t.Errorf("got %v", job.ObjectMeta)
	}
	if len(job.OwnerReferences) != 1 {
		t.Errorf("got %v", job.OwnerReferences)
	}
}

func TestHierarchy_PartsOfAdoptWorkAlone(t *testing.T) {
	job := &Job{}
	kopf.AddLabels(job, map[string]string{"a": "b"}, kopf.Nested("spec.template"))
	kopf.HarmonizeNaming(job, "named", kopf.Strict())
	kopf.AdjustNamespace(job, "ns2")
	kopf.AppendOwnerReference(job, owner(t).Body)
	if job.Name != "named" || job.Namespace != "ns2" || job.Labels["a"] != "b" || job.Spec.Template.Labels["a"] != "b" {
		t.Errorf("got %+v", job)
	}
	if diff := cmp.Diff([]metav1.OwnerReference{ownReference}, job.OwnerReferences); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	kopf.RemoveOwnerReference(job, owner(t))
	kopf.AdjustNamespace(job, "", kopf.Forced())
	if len(job.OwnerReferences) != 0 || job.Namespace != "" {
		t.Errorf("got %v", job.ObjectMeta)
	}
	if diff := cmp.Diff(ownReference, kopf.OwnerReference(owner(t))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAdopt_InvalidArgumentsPanic(t *testing.T) {
	for want, f := range map[string]func(){
		"kopf.Adopt(string): want a map[string]any":          func() { kopf.Adopt("text", owner(t)) },
		"kopf.Adopt(kopf_test.Job): want":                    func() { kopf.Adopt(Job{}, owner(t)) },
		"kopf.Adopt(<nil>): the object is nil":               func() { kopf.Adopt(nil, owner(t)) },
		"the map is nil":                                     func() { kopf.Adopt(tree(nil), owner(t)) },
		"the object is nil":                                  func() { kopf.Adopt((*Job)(nil), owner(t)) },
		"element 1 (interface {}): want":                     func() { kopf.Adopt([]any{tree{}, 5}, owner(t)) },
		"a read-only view":                                   func() { kopf.Adopt(owner(t).Body, owner(t)) },
		"the owner is nil":                                   func() { kopf.Adopt(tree{}, nil) },
		"set the Body of a request made by hand":             func() { kopf.Adopt(tree{}, &kopf.Change[kopf.Object]{}) },
		"there is no name":                                   func() { kopf.HarmonizeNaming(tree{}, "") },
		"the path of a nested object is empty":               func() { kopf.AddLabels(tree{}, nil, kopf.Nested("")) },
		"labels: not a Kubernetes object":                    func() { kopf.AddLabels(tree{"metadata": tree{"labels": "x"}}, nil) },
		"kopf.OwnerReference: the owner is nil":              func() { kopf.OwnerReference(nil) },
		"kopf.RemoveOwnerReference(map[string]interface {})": func() { kopf.RemoveOwnerReference(tree{}, nil) },
	} {
		t.Run(want, func(t *testing.T) {
			if got := panics(t, f); !strings.Contains(got, want) {
				t.Errorf("got %s", got)
			}
		})
	}
}
