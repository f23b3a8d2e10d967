package kopf

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// child is an object that is about to be created, in any form, with its tree.
type child struct {
	tree  map[string]any
	typed metav1.Object // receives the changes; nil if the tree is the object
}

// childrenOf returns the objects in an argument of [Adopt].
func childrenOf(objs any) ([]child, error) {
	switch obj := objs.(type) {
	case nil:
		return nil, errors.New("the object is nil")
	case map[string]any:
		if obj == nil {
			return nil, errors.New("the map is nil; make one first")
		}
		return []child{{tree: obj}}, nil
	case *unstructured.Unstructured:
		if obj == nil {
			return nil, errors.New("the object is nil")
		}
		if obj.Object == nil {
			obj.Object = map[string]any{}
		}
		return []child{{tree: obj.Object}}, nil
	case *Object:
		return nil, errors.New("the object is a read-only view; decode it into a type or a map first")
	}
	v := reflect.ValueOf(objs)
	if v.Kind() == reflect.Slice {
		var all []child
		for i := range v.Len() {
			some, err := childrenOf(v.Index(i).Interface())
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
	object, ok := normal.(map[string]any)
	if !ok {
		return nil, errors.New("the value does not encode as a JSON object")
	}
	return []child{{tree: object, typed: typed}}, nil
}

// save copies the changes of the tree into a typed object: its metadata and that of the
// objects nested in it. All other fields stay untouched, including those outside of JSON.
func (c child) save(nested []object.Path) error {
	if c.typed == nil {
		return nil
	}
	var meta metav1.ObjectMeta
	if err := decodeValue(c.tree["metadata"], "metadata", &meta); err != nil {
		return err
	}
	c.typed.SetName(meta.Name)
	c.typed.SetGenerateName(meta.GenerateName)
	c.typed.SetNamespace(meta.Namespace)
	c.typed.SetLabels(meta.Labels)
	c.typed.SetOwnerReferences(meta.OwnerReferences)

	inner := map[string]any{}
	if err := object.Cherrypick(c.tree, inner, nested...); err != nil {
		return err
	}
	if len(inner) == 0 {
		return nil
	}
	raw, err := json.Marshal(inner)
	if err != nil {
		return err
	}
	return decode(raw, "", c.typed)
}
