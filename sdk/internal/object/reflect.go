package object

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// What client-go's reflector needs to take an Object for a Kubernetes object.
var (
	_ runtime.Object            = (*Object)(nil)
	_ metav1.ObjectMetaAccessor = (*Object)(nil)
	_ runtime.Object            = (*List)(nil)
	_ metav1.ListMetaAccessor   = (*List)(nil)
)

// GetObjectKind tells the API version and kind. Setting them has no effect.
func (o *Object) GetObjectKind() schema.ObjectKind {
	return &metav1.TypeMeta{APIVersion: o.APIVersion, Kind: o.Kind}
}

// DeepCopyObject returns the object itself, since it never changes.
func (o *Object) DeepCopyObject() runtime.Object { return o }

// GetObjectMeta makes the identity and the version of the object readable for
// apimachinery. It is a copy with nothing but those.
func (o *Object) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{
		Namespace:       o.Namespace,
		Name:            o.Name,
		UID:             types.UID(o.UID),
		ResourceVersion: o.ResourceVersion,
		Generation:      o.Generation,
	}
}

// List is a page of objects, or all of them.
type List struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*Object
}

// GetListMeta tells the version of the list and where it continues.
func (l *List) GetListMeta() metav1.ListInterface { return &l.ListMeta }

// DeepCopyObject copies the list, but not its objects, since these never change.
func (l *List) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = append([]*Object(nil), l.Items...)
	return &out
}
