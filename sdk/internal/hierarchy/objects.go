package hierarchy

import (
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Object is an object of a user in any form, with its tree.
type Object struct {
	Tree  map[string]any
	Typed metav1.Object // the object that the tree is a copy of; nil if the tree is the object
}

// ObjectsOf returns the objects in a value: a map[string]any, an *unstructured.Unstructured, a pointer to a typed
// object, or a slice of those.
func ObjectsOf(objs any) ([]Object, error) {
	switch obj := objs.(type) {
	case nil:
		return nil, errors.New("the object is nil")
	case map[string]any:
		if obj == nil {
			return nil, errors.New("the map is nil; make one first")
		}
		return []Object{{Tree: obj}}, nil
	case *unstructured.Unstructured:
		if obj == nil {
			return nil, errors.New("the object is nil")
		}
		if obj.Object == nil {
			obj.Object = map[string]any{}
		}
		return []Object{{Tree: obj.Object}}, nil
	}
	v := reflect.ValueOf(objs)
	if v.Kind() == reflect.Slice {
		var all []Object
		for i := range v.Len() {
			some, err := ObjectsOf(v.Index(i).Interface())
			if err != nil {
				return nil, fmt.Errorf("element %d (%s): %w", i, v.Index(i).Type(), err)
			}
			all = append(all, some...)
		}
		return all, nil
	}
	typed, ok := objs.(metav1.Object)
	switch {
	case !ok || v.Kind() != reflect.Pointer:
		return nil, errors.New("want a map[string]any, an *unstructured.Unstructured, a pointer to a struct with metav1.ObjectMeta in it, or a slice of those")
	case v.IsNil():
		return nil, errors.New("the object is nil")
	}
	normal, err := object.Normalize(objs)
	if err != nil {
		return nil, err
	}
	tree, ok := normal.(map[string]any)
	if !ok {
		return nil, errors.New("the value does not encode as a JSON object")
	}
	return []Object{{Tree: tree, Typed: typed}}, nil
}
