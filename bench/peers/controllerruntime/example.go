package main

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

var groupVersion = schema.GroupVersion{Group: "kopf.dev", Version: "v1"}

// KopfExample is the resource of examples/01-minimal.
type KopfExample struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec              `json:"spec"`
	Status map[string]Result `json:"status,omitempty"`
}

// Spec is the spec of an example.
type Spec struct {
	Duration string   `json:"duration"`
	Field    string   `json:"field"`
	Items    []string `json:"items"`
}

// Result is the result of a handler.
type Result map[string]string

// KopfExampleList is a list of examples.
type KopfExampleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []KopfExample `json:"items"`
}

func (e *KopfExample) deepCopy() *KopfExample {
	out := &KopfExample{TypeMeta: e.TypeMeta, Spec: e.Spec}
	e.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Items = slices.Clone(e.Spec.Items)
	if e.Status != nil {
		out.Status = make(map[string]Result, len(e.Status))
		for id, result := range e.Status {
			out.Status[id] = maps.Clone(result)
		}
	}
	return out
}

// DeepCopyObject implements [runtime.Object].
func (e *KopfExample) DeepCopyObject() runtime.Object { return e.deepCopy() }

// DeepCopyObject implements [runtime.Object].
func (l *KopfExampleList) DeepCopyObject() runtime.Object {
	out := &KopfExampleList{TypeMeta: l.TypeMeta, Items: make([]KopfExample, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		out.Items[i] = *l.Items[i].deepCopy()
	}
	return out
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(groupVersion, &KopfExample{}, &KopfExampleList{})
	metav1.AddToGroupVersion(s, groupVersion)
	utilruntime.Must(corev1.AddToScheme(s))
	utilruntime.Must(networkingv1.AddToScheme(s))
	return s
}
