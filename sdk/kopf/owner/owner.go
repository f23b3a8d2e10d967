// Package owner prepares objects, before their creation, as children of the object that a handler is called for. See
// [Secondary resources].
//
// In all functions, objs is a map[string]any, an *unstructured.Unstructured, a pointer to a typed API object, or a slice of
// these. The owner is the Body of a request; [kopf.ObjectOf] converts other values. The functions return an error for other
// types, for an owner without metadata, and if a change does not fit, for example if the labels are a list. After an error
// in a slice, the objects before the failed object are already changed.
//
// [Secondary resources]: https://github.com/kopf-dev/kopf/blob/main/docs/secondary-resources.md
package owner

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/hierarchy"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Options configure the functions of this package. The zero value is usable. A function ignores options that do not apply
// to it.
type Options struct {
	// Overwrite replaces an existing name, namespace and labels of an object. Defaults to false.
	Overwrite bool

	// ExactName uses the given name without a suffix, for example if an owner has a single child. Defaults to false.
	ExactName bool

	// Nested are paths of nested objects, such as "spec.template", that also get the labels if they exist. A malformed path
	// is an error. Defaults to none.
	Nested []kopf.Path

	// NoController does not mark the owner as the object's controller. An object has at most one controller. Defaults to
	// false: the owner is the controller.
	NoController bool

	// NoBlocking permits a foreground deletion to remove the owner before the object. Defaults to false: the owner remains
	// until the object is deleted.
	NoBlocking bool
}

// Adopt gives objs the owner's namespace and labels, a name with the owner's name as its prefix, and an owner reference, so
// that they are deleted with the owner. An object keeps its own values, unless [Options].Overwrite is set.
//
//	err := owner.Adopt(pod, c.Body, owner.Options{ExactName: true})
func Adopt(objs any, owner *kopf.Object, opts Options) error {
	return relate("adopt", objs, opts, func(tree map[string]any, o hierarchy.Options) error {
		body, err := treeOf(owner)
		if err != nil {
			return err
		}
		return hierarchy.Adopt(tree, body, opts.reference(body), o)
	})
}

// AddLabels adds labels to objs. Labels that an object already has keep their values, unless [Options].Overwrite is set.
func AddLabels(objs any, labels map[string]string, opts Options) error {
	values := make(map[string]any, len(labels))
	for name, value := range labels {
		values[name] = value
	}
	return relate("label", objs, opts, func(tree map[string]any, o hierarchy.Options) error {
		return hierarchy.AddLabels(tree, values, o)
	})
}

// HarmonizeNaming gives objs a name, followed by a suffix that the API server chooses (metadata.generateName). If
// [Options].ExactName is set, the name has no suffix. An object that has a name keeps it, unless [Options].Overwrite is
// set. An empty name is an error.
func HarmonizeNaming(objs any, name string, opts Options) error {
	return relate("name", objs, opts, func(tree map[string]any, o hierarchy.Options) error {
		if name == "" {
			return hierarchy.ErrNoName
		}
		return hierarchy.HarmonizeNaming(tree, &name, o)
	})
}

// AdjustNamespace sets the namespace of objs; it is empty for cluster-scoped objects. An object that has a namespace keeps
// it, unless [Options].Overwrite is set.
func AdjustNamespace(objs any, namespace string, opts Options) error {
	return relate("set the namespace of", objs, opts, func(tree map[string]any, o hierarchy.Options) error {
		if namespace == "" {
			return hierarchy.AdjustNamespace(tree, nil, o)
		}
		return hierarchy.AdjustNamespace(tree, &namespace, o)
	})
}

// AppendReference adds a [Reference] to objs, so that Kubernetes deletes them with the owner. It does not change objects
// that already have a reference to the owner.
func AppendReference(objs any, owner *kopf.Object, opts Options) error {
	return relate("add an owner to", objs, opts, func(tree map[string]any, _ hierarchy.Options) error {
		body, err := treeOf(owner)
		if err != nil {
			return err
		}
		return hierarchy.AppendOwnerReference(tree, opts.reference(body))
	})
}

// RemoveReference removes the references to the owner from objs.
func RemoveReference(objs any, owner *kopf.Object) error {
	return relate("remove an owner from", objs, Options{}, func(tree map[string]any, _ hierarchy.Options) error {
		body, err := treeOf(owner)
		if err != nil {
			return err
		}
		return hierarchy.RemoveOwnerReference(tree, Options{}.reference(body))
	})
}

// Reference returns the reference to the owner that [AppendReference] adds.
func Reference(owner *kopf.Object, opts Options) (metav1.OwnerReference, error) {
	var ref metav1.OwnerReference
	body, err := treeOf(owner)
	if err == nil {
		err = decode(opts.reference(body), "", &ref)
	}
	if err != nil {
		return ref, fmt.Errorf("make an owner reference: %w", err)
	}
	return ref, nil
}

// reference returns the reference to an owner.
func (o Options) reference(owner map[string]any) map[string]any {
	controller, block := !o.NoController, !o.NoBlocking
	return hierarchy.OwnerReference(owner, &controller, &block)
}

// paths parses the paths of the nested objects.
func (o Options) paths() ([]object.Path, error) {
	var paths []object.Path
	for _, notation := range o.Nested {
		path, err := object.ParsePath(string(notation))
		if err == nil {
			err = path.CheckKeys()
		}
		if err == nil && len(path) == 0 {
			err = errors.New("the path of a nested object is empty")
		}
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// relate applies a change to the tree of each object of objs. Its errors start with the given text.
func relate(attempt string, objs any, opts Options, change func(map[string]any, hierarchy.Options) error) error {
	if err := relateAll(objs, opts, change); err != nil {
		return fmt.Errorf("%s %T: %w", attempt, objs, err)
	}
	return nil
}

func relateAll(objs any, opts Options, change func(map[string]any, hierarchy.Options) error) error {
	nested, err := opts.paths()
	if err != nil {
		return err
	}
	if _, view := objs.(*kopf.Object); view {
		return errors.New("the object is a read-only view; decode it into a type or a map first")
	}
	children, err := hierarchy.ObjectsOf(objs)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := change(child.Tree, hierarchy.Options{Forced: opts.Overwrite, Strict: opts.ExactName, Nested: nested}); err != nil {
			return err
		}
		if err := save(child, nested); err != nil {
			return err
		}
	}
	return nil
}

// save copies changed metadata from the tree into a typed object and its nested objects. All other fields stay unchanged,
// including fields without JSON.
func save(child hierarchy.Object, nested []object.Path) error {
	if child.Typed == nil {
		return nil
	}
	var meta metav1.ObjectMeta
	if err := decode(child.Tree, "metadata", &meta); err != nil {
		return err
	}
	child.Typed.SetName(meta.Name)
	child.Typed.SetGenerateName(meta.GenerateName)
	child.Typed.SetNamespace(meta.Namespace)
	child.Typed.SetLabels(meta.Labels)
	child.Typed.SetOwnerReferences(meta.OwnerReferences)

	inner := map[string]any{}
	if err := object.Cherrypick(child.Tree, inner, nested...); err != nil {
		return err
	}
	if len(inner) == 0 {
		return nil
	}
	return decode(inner, "", child.Typed)
}

// decode decodes a field of a tree. Its error has the path of the field.
func decode(tree map[string]any, field kopf.Path, v any) error {
	view, err := kopf.ObjectOf(tree)
	if err != nil {
		return err
	}
	return view.Decode(field, v)
}

// treeOf returns the content of the owner.
func treeOf(owner *kopf.Object) (map[string]any, error) {
	if owner == nil {
		return nil, errors.New("the owner is nil; set the Body of a request that is constructed in a test")
	}
	var body map[string]any
	if err := owner.Decode("", &body); err != nil {
		return nil, err
	}
	if object.Metadata(body) == nil {
		return nil, errors.New("the owner has no metadata")
	}
	return body, nil
}
