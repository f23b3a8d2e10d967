package kopf

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/hierarchy"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// An Owner is what children can be made of: any request about an object, or an
// *[Object]; see [ObjectOf] for all others. One with no metadata is a mistake, as below.
type Owner interface{ owner() *Object }

// Adopt makes objs children of the owner before they are created: in its namespace,
// named after it, with its labels, and deleted with it. What an object already has
// stays, unless [Forced]. See the chapter "Hierarchies" of Kopf's documentation.
//
// Here and below, objs is a map[string]any, an *unstructured.Unstructured, a pointer
// to a typed API object, or a slice of those. Anything else is a mistake in the
// program: a panic, which in a handler is an error as any other.
func Adopt(objs any, owner Owner, opts ...HierarchyOption) {
	relate("Adopt", objs, opts, func(objs any, o hierarchy.Options) error {
		body, err := treeOfOwner(owner)
		if err != nil {
			return err
		}
		return hierarchy.Adopt(objs, body, o)
	})
}

// AddLabels adds labels. Those that are there already stay as they are, unless [Forced];
// with [Nested], objects inside are labelled, too.
func AddLabels(objs any, labels map[string]string, opts ...HierarchyOption) {
	values := make(map[string]any, len(labels))
	for name, value := range labels {
		values[name] = value
	}
	relate("AddLabels", objs, opts, func(objs any, o hierarchy.Options) error {
		return hierarchy.AddLabels(objs, values, o)
	})
}

// HarmonizeNaming names objs after a name: with a suffix that the server chooses
// (metadata.generateName) unless [Strict]. An object that has a name keeps it, unless
// [Forced]. An empty name is a mistake, as in [Adopt].
func HarmonizeNaming(objs any, name string, opts ...HierarchyOption) {
	relate("HarmonizeNaming", objs, opts, func(objs any, o hierarchy.Options) error {
		if name == "" {
			return hierarchy.ErrNoName
		}
		return hierarchy.HarmonizeNaming(objs, &name, o)
	})
}

// AdjustNamespace puts objs into a namespace; the empty one is for cluster-scoped
// objects. An object that has a namespace keeps it, unless [Forced].
func AdjustNamespace(objs any, namespace string, opts ...HierarchyOption) {
	relate("AdjustNamespace", objs, opts, func(objs any, o hierarchy.Options) error {
		if namespace == "" {
			return hierarchy.AdjustNamespace(objs, nil, o)
		}
		return hierarchy.AdjustNamespace(objs, &namespace, o)
	})
}

// AppendOwnerReference has objs deleted when the owner is. The owner controls them and
// its deletion waits for theirs, as [OwnerReference] says.
func AppendOwnerReference(objs any, owner Owner, opts ...HierarchyOption) {
	relate("AppendOwnerReference", objs, opts, func(objs any, _ hierarchy.Options) error {
		body, err := treeOfOwner(owner)
		if err != nil {
			return err
		}
		return hierarchy.AppendOwnerReference(objs, controlledBy(body))
	})
}

// RemoveOwnerReference undoes [AppendOwnerReference]. Objects that do not have the owner
// are left alone.
func RemoveOwnerReference(objs any, owner Owner) {
	relate("RemoveOwnerReference", objs, nil, func(objs any, _ hierarchy.Options) error {
		body, err := treeOfOwner(owner)
		if err != nil {
			return err
		}
		return hierarchy.RemoveOwnerReference(objs, controlledBy(body))
	})
}

// OwnerReference returns a controlling and blocking reference to the owner, as the
// functions above append it; for another kind of reference, change and append it.
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

// A HierarchyOption is an option of [Adopt] and its parts; one that has no meaning
// for a part is ignored by it.
type HierarchyOption func(*hierarchyOptions)

type hierarchyOptions struct {
	options hierarchy.Options
	err     error
}

// Forced overwrites what an object already has.
func Forced() HierarchyOption { return func(o *hierarchyOptions) { o.options.Forced = true } }

// Strict takes the owner's name as it is, for a single child, with no suffix.
func Strict() HierarchyOption { return func(o *hierarchyOptions) { o.options.Strict = true } }

// Nested labels also the objects inside of objs at the paths, such as
// "spec.template", where they are there.
func Nested(paths ...string) HierarchyOption {
	return func(o *hierarchyOptions) {
		for _, path := range paths {
			p, err := object.ParsePath(path)
			if err == nil && len(p) == 0 {
				err = errors.New("the path of a nested object is empty")
			}
			o.err = errors.Join(o.err, err)
			o.options.Nested = append(o.options.Nested, p)
		}
	}
}

// relate does something to objects of any form as to trees.
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
		return nil, errors.New("the owner has no metadata: a request made by hand needs its Body")
	}
	return body, nil
}
