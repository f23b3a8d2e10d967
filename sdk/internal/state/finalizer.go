package state

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// DefaultFinalizer is the finalizer of operators whose settings have no finalizer.
const DefaultFinalizer = "kopf.zalando.org/KopfFinalizerMarker"

var field = object.Path{"metadata", "finalizers"}

// Deleting reports whether the object is marked for deletion.
func Deleting(obj map[string]any) bool {
	return object.Metadata(obj)["deletionTimestamp"] != nil
}

// HasFinalizer reports whether the object has the finalizer, so that its deletion waits for the operator.
func HasFinalizer(object map[string]any, name string) bool {
	return slices.Contains(finalizers(object), any(name))
}

// AddFinalizer adds the finalizer to the object, unless it is present. It is a transformation, because a merge patch would
// overwrite finalizers that other clients add concurrently.
func AddFinalizer(p *patch.Patch, name string) {
	p.AddFn(func(obj map[string]any) error {
		if HasFinalizer(obj, name) {
			return nil
		}
		return object.Ensure(obj, field, append(slices.Clone(finalizers(obj)), name))
	})
}

// RemoveFinalizer removes the finalizer from the object, and the list if it becomes empty.
func RemoveFinalizer(p *patch.Patch, name string) {
	p.AddFn(func(obj map[string]any) error {
		rest := slices.DeleteFunc(slices.Clone(finalizers(obj)), func(item any) bool { return item == any(name) })
		if len(rest) == 0 {
			return object.Remove(obj, field)
		}
		return object.Ensure(obj, field, rest)
	})
}

func finalizers(obj map[string]any) []any {
	list, _ := object.Metadata(obj)["finalizers"].([]any)
	return list
}
