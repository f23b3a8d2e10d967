package children

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

var errGeneratedName = errors.New("a child with metadata.generateName would be another object in each pass: set metadata.name")

// KindOf returns the group, version and kind of an object. The kind defaults to the name of the Go type; the group and
// the version are empty if the object lacks an apiVersion.
func KindOf(obj any) schema.GroupVersionKind {
	var apiVersion, kind string
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		apiVersion, kind = obj.GetAPIVersion(), obj.GetKind()
	case interface{ GetObjectKind() schema.ObjectKind }:
		apiVersion, kind = obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	}
	if t := reflect.TypeOf(obj); kind == "" && t != nil && t.Kind() == reflect.Pointer {
		kind = t.Elem().Name()
	}
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// Encode returns the canonical tree of an object: the fields that the operator applies. The tree has the given version and kind. It
// lacks null, empty lists, the status, metadata that only the API server sets, and struct fields by value without content. Zero
// numbers, empty strings and false stay if their JSON tag has neither omitempty nor omitzero. In a Secret, stringData becomes data.
//
// The object is a pointer to an API struct, or an [unstructured.Unstructured]. The tree shares no memory with the object.
func Encode(obj any, kind schema.GroupVersionKind) (map[string]any, error) {
	var value any
	var err error
	if u, ok := obj.(*unstructured.Unstructured); ok {
		value, err = canonical(u.Object)
	} else {
		value, err = encodeStruct(obj)
	}
	tree, _ := value.(map[string]any)
	switch {
	case err != nil:
		return nil, fmt.Errorf("encode %s: %w", kind.Kind, err)
	case tree == nil:
		return nil, fmt.Errorf("encode %T: use a pointer to an API struct, or an *unstructured.Unstructured", obj)
	}
	delete(tree, "status")
	tree["apiVersion"], tree["kind"] = kind.ToAPIVersionAndKind()
	if meta := object.Metadata(tree); meta != nil {
		for _, key := range serverOwned {
			delete(meta, key)
		}
		if meta["generateName"] != nil {
			return nil, errGeneratedName
		}
		if len(meta) == 0 {
			delete(tree, "metadata")
		}
	}
	if kind.Group == "" && kind.Kind == "Secret" {
		if err := moveStringData(tree); err != nil {
			return nil, err
		}
	}
	return tree, nil
}

// serverOwned are the fields of the metadata that only the API server sets. The operator sends some of them as preconditions.
var serverOwned = []string{
	"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields", "resourceVersion",
	"selfLink", "uid",
}

// moveStringData moves stringData to data, because the API server does not record the manager of keys in stringData.
func moveStringData(tree map[string]any) error {
	texts, ok := tree["stringData"].(map[string]any)
	if !ok {
		return nil
	}
	delete(tree, "stringData")
	data, _ := tree["data"].(map[string]any)
	if data == nil && len(texts) > 0 {
		data = map[string]any{}
		tree["data"] = data
	}
	for key, value := range texts {
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("encode Secret: stringData.%s is not a string: write the value in quotes", key)
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return nil
}

// canonical returns a copy of a tree. The copy has no null and no empty lists in maps, and its whole numbers are int64.
func canonical(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			item, err := canonical(item)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
			if !blank(item) {
				out[key] = item
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			item, err := canonical(item)
			if err != nil {
				return nil, fmt.Errorf("[%d]: %w", i, err)
			}
			out[i] = item
		}
		return out, nil
	case nil, bool, string, int64:
		return v, nil
	case float64:
		return number(v)
	case json.Number:
		if decoded, err := object.DecodeJSON([]byte(v)); err == nil && decoded != any(v) {
			return canonical(decoded)
		}
		return v, object.CheckTree(v) // the integer has more than 64 bits
	default:
		normal, err := object.Normalize(v)
		if err != nil {
			return nil, err
		}
		return canonical(normal)
	}
}

// blank reports whether a member of a map is null or an empty list. The canonical tree lacks such members: the API server drops
// null, and records no manager of an empty list.
func blank(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

// number returns a whole number as int64, so that 1.0 and 1 are equal.
func number(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("JSON has no number %v", f)
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f), nil
	}
	return f, nil
}
