package kopf

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/hierarchy"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Owner is what children are made for: a request about an object, or an *[Object]; use
// [ObjectOf] for anything else. An owner without metadata causes a panic in the functions that
// take an owner.
type Owner interface{ owner() *Object }

// Adopt makes objs children of the owner before they are created: it gives them the owner's
// namespace, labels and a name made of the owner's name, and an owner reference, so that they are
// deleted with the owner. What an object already has stays, unless [Forced]. See [Hierarchies].
//
// In this and the other functions with an argument objs, it is a map[string]any, an
// *unstructured.Unstructured, a pointer to a typed API object, or a slice of those. Anything else
// causes a panic. In a handler, a panic is treated as an error.
//
// [Hierarchies]: https://github.com/kopf-dev/kopf/blob/main/docs/hierarchies.md
func Adopt(objs any, owner Owner, opts ...HierarchyOption) {
	relate("Adopt", objs, opts, func(objs any, o hierarchy.Options) error {
		body, err := treeOfOwner(owner)
		if err != nil {
			return err
		}
		return hierarchy.Adopt(objs, body, o)
	})
}

// AddLabels adds labels to objs. Labels that an object already has keep their values, unless
// [Forced]. With [Nested], it labels nested objects too.
func AddLabels(objs any, labels map[string]string, opts ...HierarchyOption) {
	values := make(map[string]any, len(labels))
	for name, value := range labels {
		values[name] = value
	}
	relate("AddLabels", objs, opts, func(objs any, o hierarchy.Options) error {
		return hierarchy.AddLabels(objs, values, o)
	})
}

// HarmonizeNaming names objs after a name, followed by a suffix that the API server chooses
// (metadata.generateName), or without the suffix if [Strict]. An object that has a name keeps
// it, unless [Forced]. An empty name causes a panic.
func HarmonizeNaming(objs any, name string, opts ...HierarchyOption) {
	relate("HarmonizeNaming", objs, opts, func(objs any, o hierarchy.Options) error {
		if name == "" {
			return hierarchy.ErrNoName
		}
		return hierarchy.HarmonizeNaming(objs, &name, o)
	})
}

// AdjustNamespace puts objs into a namespace; the empty one is for cluster-scoped objects. An
// object that has a namespace keeps it, unless [Forced].
func AdjustNamespace(objs any, namespace string, opts ...HierarchyOption) {
	relate("AdjustNamespace", objs, opts, func(objs any, o hierarchy.Options) error {
		if namespace == "" {
			return hierarchy.AdjustNamespace(objs, nil, o)
		}
		return hierarchy.AdjustNamespace(objs, &namespace, o)
	})
}

// AppendOwnerReference adds an [OwnerReference] to objs, so that Kubernetes deletes them with
// the owner.
func AppendOwnerReference(objs any, owner Owner, opts ...HierarchyOption) {
	relate("AppendOwnerReference", objs, opts, func(objs any, _ hierarchy.Options) error {
		body, err := treeOfOwner(owner)
		if err != nil {
			return err
		}
		return hierarchy.AppendOwnerReference(objs, controlledBy(body))
	})
}

// RemoveOwnerReference removes what [AppendOwnerReference] adds. Objects that do not have the
// owner stay as they are.
func RemoveOwnerReference(objs any, owner Owner) {
	relate("RemoveOwnerReference", objs, nil, func(objs any, _ hierarchy.Options) error {
		body, err := treeOfOwner(owner)
		if err != nil {
			return err
		}
		return hierarchy.RemoveOwnerReference(objs, controlledBy(body))
	})
}

// OwnerReference returns a reference to the owner with controller and blockOwnerDeletion set,
// as [Adopt] and [AppendOwnerReference] add it. For another kind of reference, modify the
// result and append it to the object yourself. An owner without metadata causes a panic.
func OwnerReference(owner Owner) metav1.OwnerReference {
	body, err := treeOfOwner(owner)
	if err != nil {
		panic(fmt.Sprintf("kopf.OwnerReference: %v", err))
	}
	var ref metav1.OwnerReference
	if err := decodeValue(controlledBy(body), "", &ref); err != nil {
		panic(fmt.Sprintf("kopf.OwnerReference: %v", err))
	}
	return ref
}

func controlledBy(owner map[string]any) map[string]any {
	return hierarchy.OwnerReference(owner, new(true), new(true))
}

// HierarchyOption is an option of [Adopt], [AddLabels], [HarmonizeNaming] and
// [AdjustNamespace]. A function ignores the options that it has no use for.
type HierarchyOption func(*hierarchyOptions)

type hierarchyOptions struct {
	options hierarchy.Options
	err     error
}

// Forced overwrites what an object already has.
func Forced() HierarchyOption { return func(o *hierarchyOptions) { o.options.Forced = true } }

// Strict uses the owner's name without a suffix, for an owner with a single child.
func Strict() HierarchyOption { return func(o *hierarchyOptions) { o.options.Strict = true } }

// Nested labels also the nested objects at the paths, such as "spec.template", where they
// exist. A malformed path causes a panic.
func Nested(paths ...Path) HierarchyOption {
	return func(o *hierarchyOptions) {
		for _, path := range paths {
			p, err := path.fixed()
			if err == nil && len(p) == 0 {
				err = errors.New("the path of a nested object is empty")
			}
			o.err = errors.Join(o.err, err)
			o.options.Nested = append(o.options.Nested, p)
		}
	}
}

// relate applies do to each object of objs as a tree, and panics with the function's name.
func relate(name string, objs any, opts []HierarchyOption, do func(objs any, o hierarchy.Options) error) {
	o := hierarchyOptions{}
	for _, opt := range opts {
		opt(&o)
	}
	err := o.err
	if err == nil {
		err = relateAll(objs, o.options, do)
	}
	if err != nil {
		panic(fmt.Sprintf("kopf.%s(%T): %v", name, objs, err))
	}
}

func relateAll(objs any, o hierarchy.Options, do func(objs any, o hierarchy.Options) error) error {
	children, err := childrenOf(objs)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := do(child.tree, o); err != nil {
			return err
		}
		if err := child.save(o.Nested); err != nil {
			return err
		}
	}
	return nil
}

// treeOfOwner returns the owner's body.
func treeOfOwner(owner Owner) (map[string]any, error) {
	if owner == nil {
		return nil, errors.New("the owner is nil")
	}
	body, err := owner.owner().contents()
	if err != nil {
		return nil, err
	}
	if object.Metadata(body) == nil {
		return nil, errors.New("the owner has no metadata; set the Body of a request made by hand")
	}
	return body, nil
}
