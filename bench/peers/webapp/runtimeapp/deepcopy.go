package runtimeapp

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// The functions of this file are the ones that controller-gen would generate. The documentation does not count their lines.

// DeepCopyInto copies an application.
func (a *WebApp) DeepCopyInto(out *WebApp) {
	*out = *a
	a.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.Config = maps.Clone(a.Spec.Config)
}

// DeepCopyObject implements [runtime.Object].
func (a *WebApp) DeepCopyObject() runtime.Object {
	out := &WebApp{}
	a.DeepCopyInto(out)
	return out
}

// DeepCopyObject implements [runtime.Object].
func (l *WebAppList) DeepCopyObject() runtime.Object {
	out := &WebAppList{TypeMeta: l.TypeMeta, Items: make([]WebApp, len(l.Items))}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	for i := range l.Items {
		l.Items[i].DeepCopyInto(&out.Items[i])
	}
	return out
}
