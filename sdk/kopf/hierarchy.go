package kopf

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/hierarchy"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Owner is what children are made for: a request about an object, or an *[Object]; use
// [ObjectOf] for anything else. An owner without metadata is an error of the functions that take an
// owner.
type Owner interface{ owner() *Object }

// Adopt makes objs children of the owner before they are created: it gives them the owner's
// namespace, labels and a name made of the owner's name, and an owner reference, so that they are
// deleted with the owner. What an object already has stays, unless [Forced]. See [Secondary resources].
//
// In this and the other functions with an argument objs, it is a map[string]any, an
// *unstructured.Unstructured, a pointer to a typed API object, or a slice of those. They return an
// error for anything else, and for objects that cannot be changed as asked, such as labels that are
// a list. Of a slice, the objects before the one with the error are changed.
//
// [Secondary resources]: https://github.com/kopf-dev/kopf/blob/main/docs/secondary-resources.md
func Adopt(objs any, owner Owner, opts ...HierarchyOption) error {
	return relate("adopt", objs, opts, func(objs any, o hierarchyOptions) error {
		body, err := treeOfOwner(owner)
		if err != nil {
			return err
		}
		return hierarchy.Adopt(objs, body, o.reference(body), o.options)
	})
}

// AddLabels adds labels to objs. Labels that an object already has keep their values, unless
// [Forced]. With [Nested], it labels nested objects too.
func AddLabels(objs any, labels map[string]string, opts ...HierarchyOption) error {
	values := make(map[string]any, len(labels))
	for name, value := range labels {
		values[name] = value
	}
	return relate("label", objs, opts, func(objs any, o hierarchyOptions) error {
		return hierarchy.AddLabels(objs, values, o.options)
	})
}

// HarmonizeNaming names objs after a name, followed by a suffix that the API server chooses
// (metadata.generateName), or without the suffix if [Strict]. An object that has a name keeps
// it, unless [Forced]. An empty name is an error.
func HarmonizeNaming(objs any, name string, opts ...HierarchyOption) error {
	return relate("name", objs, opts, func(objs any, o hierarchyOptions) error {
		if name == "" {
			return hierarchy.ErrNoName
		}
		return hierarchy.HarmonizeNaming(objs, &name, o.options)
	})
}

// AdjustNamespace puts objs into a namespace; the empty one is for cluster-scoped objects. An
// object that has a namespace keeps it, unless [Forced].
func AdjustNamespace(objs any, namespace string, opts ...HierarchyOption) error {
	return relate("set the namespace of", objs, opts, func(objs any, o hierarchyOptions) error {
		if namespace == "" {
			return hierarchy.AdjustNamespace(objs, nil, o.options)
		}
		return hierarchy.AdjustNamespace(objs, &namespace, o.options)
	})
}

// AppendOwnerReference adds an [OwnerReference] to objs, so that Kubernetes deletes them with
// the owner. Objects that have the owner already stay as they are.
func AppendOwnerReference(objs any, owner Owner, opts ...HierarchyOption) error {
	return relate("add an owner to", objs, opts, func(objs any, o hierarchyOptions) error {
		body, err := treeOfOwner(owner)
		if err != nil {
			return err
		}
		return hierarchy.AppendOwnerReference(objs, o.reference(body))
	})
}

// RemoveOwnerReference removes what [AppendOwnerReference] adds. Objects that do not have the
// owner stay as they are.
func RemoveOwnerReference(objs any, owner Owner) error {
	return relate("remove an owner from", objs, nil, func(objs any, o hierarchyOptions) error {
		body, err := treeOfOwner(owner)
		if err != nil {
			return err
		}
		return hierarchy.RemoveOwnerReference(objs, o.reference(body))
	})
}

// OwnerReference returns a reference to the owner, as [AppendOwnerReference] adds it.
func OwnerReference(owner Owner, opts ...HierarchyOption) (metav1.OwnerReference, error) {
	var ref metav1.OwnerReference
	o, err := hierarchyOptionsOf(opts)
	if err == nil {
		var body map[string]any
		if body, err = treeOfOwner(owner); err == nil {
			err = decodeValue(o.reference(body), "", &ref)
		}
	}
	if err != nil {
		return ref, fmt.Errorf("make an owner reference: %w", err)
	}
	return ref, nil
}

// HierarchyOption is an option of [Adopt] and its parts. A function ignores the options that it has
// no use for.
type HierarchyOption func(*hierarchyOptions)

type hierarchyOptions struct {
	options           hierarchy.Options
	controller, block bool // of the owner reference
	err               error
}

func hierarchyOptionsOf(opts []HierarchyOption) (hierarchyOptions, error) {
	o := hierarchyOptions{controller: true, block: true}
	for _, opt := range opts {
		opt(&o)
	}
	return o, o.err
}

// reference returns the reference to an owner.
func (o *hierarchyOptions) reference(owner map[string]any) map[string]any {
	return hierarchy.OwnerReference(owner, &o.controller, &o.block)
}

// Controller says whether the owner manages the object, which at most one of its owners does.
// Defaults to true.
func Controller(is bool) HierarchyOption { return func(o *hierarchyOptions) { o.controller = is } }

// BlockOwnerDeletion says whether a foreground deletion of the owner waits for the object. Defaults
// to true.
func BlockOwnerDeletion(does bool) HierarchyOption {
	return func(o *hierarchyOptions) { o.block = does }
}

// Forced overwrites what an object already has.
func Forced() HierarchyOption { return func(o *hierarchyOptions) { o.options.Forced = true } }

// Strict uses the owner's name without a suffix, for an owner with a single child.
func Strict() HierarchyOption { return func(o *hierarchyOptions) { o.options.Strict = true } }

// Nested labels also the nested objects at the paths, such as "spec.template", where they
// exist. A malformed path is an error.
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

// relate applies do to each object of objs as a tree. The error says what was attempted.
func relate(what string, objs any, opts []HierarchyOption, do func(objs any, o hierarchyOptions) error) error {
	o, err := hierarchyOptionsOf(opts)
	if err == nil {
		err = relateAll(objs, o, do)
	}
	if err != nil {
		return fmt.Errorf("%s %T: %w", what, objs, err)
	}
	return nil
}

func relateAll(objs any, o hierarchyOptions, do func(objs any, o hierarchyOptions) error) error {
	children, err := childrenOf(objs)
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := do(child.tree, o); err != nil {
			return err
		}
		if err := child.save(o.options.Nested); err != nil {
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
