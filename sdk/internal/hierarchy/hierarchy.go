// Package hierarchy makes objects the children of others: owned, named, placed and
// labelled after them.
//
// Objects are trees, which are changed in place: they are about to be created and belong
// to the caller. Each function takes one object or any nesting of lists of objects.
package hierarchy

import (
	"errors"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// The reasons why an object cannot be made a child.
var (
	// ErrNoUID is the error of an owner with no uid, which cannot be told from others.
	ErrNoUID = errors.New("the owner has no uid: it must exist in the cluster")
	// ErrNoName is the error of an owner with no name to name its children after.
	ErrNoName = errors.New("there is no name to name the objects after")
)

// UnsupportedError is the error of something that is no object.
type UnsupportedError struct{ Value any }

// Error implements the error interface.
func (e *UnsupportedError) Error() string { return fmt.Sprintf("not a Kubernetes object: %T", e.Value) }

// Options are the ways to make objects children.
type Options struct {
	Forced bool          // overwrite what the objects have already
	Strict bool          // the name as it is, with no random suffix
	Nested []object.Path // objects inside of the objects, to be labelled too if they are there
}

// Adopt makes objects the children of an owner in all respects.
func Adopt(objs any, owner map[string]any, options Options) error {
	if err := AppendOwnerReference(objs, OwnerReference(owner, new(true), new(true))); err != nil {
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

// HarmonizeNaming names objects after a name: exactly so if strict, with a suffix of the
// server's choice otherwise. Objects that have a name, or that ask for a suffix, keep it
// unless forced. A nil name is an error.
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

// AdjustNamespace puts objects into a namespace, unless they are in one and it is not
// forced; nil is that of no namespace.
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

// AddLabels adds labels to objects and to the nested ones. Labels that they have already
// keep their values unless forced.
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

// each calls a function for all objects, and stops at its first error.
func each(objs any, nested []object.Path, do func(obj map[string]any) error) error {
	for obj := range object.Walk(objs, nested...) {
		object, ok := obj.(map[string]any)
		if !ok {
			return &UnsupportedError{obj}
		}
		if err := do(object); err != nil {
			return err
		}
	}
	return nil
}

// child returns a map inside of a map, which is created if it is absent or null.
func child(parent map[string]any, key string) (map[string]any, error) {
	switch value := parent[key].(type) {
	case nil:
		created := map[string]any{}
		parent[key] = created
		return created, nil
	case map[string]any:
		return value, nil
	default:
		return nil, fmt.Errorf("%s: %w", key, &UnsupportedError{value})
	}
}

func text(value any) *string {
	s, ok := value.(string)
	if !ok {
		return nil
	}
	return &s
}
