package object

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// What client-go's reflector requires of objects and lists.
var (
	_ runtime.Object            = (*Object)(nil)
	_ metav1.ObjectMetaAccessor = (*Object)(nil)
	_ runtime.Object            = (*List)(nil)
	_ metav1.ListMetaAccessor   = (*List)(nil)
)

// GetObjectKind implements [runtime.Object]. Changes of the result have no effect.
func (o *Object) GetObjectKind() schema.ObjectKind {
	return &metav1.TypeMeta{APIVersion: o.APIVersion, Kind: o.Kind}
}

// DeepCopyObject returns the object itself, which is immutable.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// GetObjectMeta implements [metav1.ObjectMetaAccessor]. It returns a copy with the identity
// and the version of the object only.
func (o *Object) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{
		Namespace:       o.Namespace,
		Name:            o.Name,
		UID:             types.UID(o.UID),
		ResourceVersion: o.ResourceVersion,
		Generation:      o.Generation,
	}
}
