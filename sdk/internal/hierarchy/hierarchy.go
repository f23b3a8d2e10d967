// Package hierarchy makes objects the children of an owner: it sets their owner references,
// names, namespaces and labels.
//
// Each function takes an object as a tree, or nested lists of objects, and changes them in place.
package hierarchy

import (
	"errors"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// ErrNoName is the error of naming objects without the name of an owner.
var ErrNoName = errors.New("there is no name to name the objects after")

var errNoUID = errors.New("the owner has no uid: it must exist in the cluster")

// unsupportedError is the error of a value that is not an object.
type unsupportedError struct{ Value any }

// Error implements the error interface.
func (e *unsupportedError) Error() string { return fmt.Sprintf("not a Kubernetes object: %T", e.Value) }

// Options say how to make objects children.
type Options struct {
	Forced bool          // overwrite existing names, namespaces and labels
	Strict bool          // use the exact name instead of a prefix
	Nested []object.Path // fields with objects to label too, if they exist
}

// Adopt makes objects the children of an owner, with a reference to it: it calls all other functions.
func Adopt(objs any, owner, ref map[string]any, options Options) error {
	if err := AppendOwnerReference(objs, ref); err != nil {
		return err
	}
	meta := object.Metadata(owner)
	if err := HarmonizeNaming(objs, text(meta["name"]), options); err != nil {
		return err
	}
	if err := AdjustNamespace(objs, text(meta["namespace"]), options); err != nil {
		return err
	}
	labels, _ := meta["labels"].(map[string]any)
	return AddLabels(objs, labels, options)
}

// HarmonizeNaming sets the names of objects if strict, or else their prefixes, to which the
// server adds a suffix. Unless forced, it skips objects with a name or a prefix. The error is
// [ErrNoName] if the name is nil.
func HarmonizeNaming(objs any, name *string, options Options) error {
	if name == nil {
		return ErrNoName
	}
	return each(objs, nil, func(obj map[string]any) error {
		meta, err := child(obj, "metadata")
		if err != nil {
			return err
		}
		_, named := meta["name"]
		_, prefixed := meta["generateName"]
		switch {
		case (named || prefixed) && !options.Forced:
		case options.Strict:
			meta["name"] = *name
			delete(meta, "generateName")
		default:
			meta["generateName"] = *name + "-"
			delete(meta, "name")
		}
		return nil
	})
}

// AdjustNamespace sets the namespace of objects, or null if it is nil. Unless forced, it skips
// objects with a namespace.
func AdjustNamespace(objs any, namespace *string, options Options) error {
	return each(objs, nil, func(obj map[string]any) error {
		meta, err := child(obj, "metadata")
		if err != nil {
			return err
		}
		switch {
		case meta["namespace"] != nil && !options.Forced:
		case namespace == nil:
			meta["namespace"] = nil
		default:
			meta["namespace"] = *namespace
		}
		return nil
	})
}

// AddLabels adds labels to objects and to the nested ones. Unless forced, it keeps the values
// of existing labels.
func AddLabels(objs any, labels map[string]any, options Options) error {
	return each(objs, options.Nested, func(obj map[string]any) error {
		meta, err := child(obj, "metadata")
		if err != nil {
			return err
		}
		own, err := child(meta, "labels")
		if err != nil {
			return err
		}
		for key, value := range labels {
			if _, found := own[key]; !found || options.Forced {
				own[key] = value
			}
		}
		return nil
	})
}

// each calls a function for every object, up to the first error.
func each(objs any, nested []object.Path, do func(obj map[string]any) error) error {
	for obj := range object.Walk(objs, nested...) {
		object, ok := obj.(map[string]any)
		if !ok {
			return &unsupportedError{obj}
		}
		if err := do(object); err != nil {
			return err
		}
	}
	return nil
}

// child returns a map within a map. It creates the map if it is absent or null.
func child(parent map[string]any, key string) (map[string]any, error) {
	switch value := parent[key].(type) {
	case nil:
		created := map[string]any{}
		parent[key] = created
		return created, nil
	case map[string]any:
		return value, nil
	default:
		return nil, fmt.Errorf("%s: %w", key, &unsupportedError{value})
	}
}

func text(value any) *string {
	s, ok := value.(string)
	if !ok {
		return nil
	}
	return &s
}
