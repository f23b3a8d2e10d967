package state

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Default is the finalizer of operators that do not choose another one.
const DefaultFinalizer = "kopf.zalando.org/KopfFinalizerMarker"

var field = object.Path{"metadata", "finalizers"}

// Deleting tells if somebody has requested the deletion of the object.
func Deleting(obj map[string]any) bool {
	return object.Metadata(obj)["deletionTimestamp"] != nil
}

// Blocked tells if the finalizer is on the object, so that its deletion has to wait.
func HasFinalizer(object map[string]any, name string) bool {
	return slices.Contains(finalizers(object), any(name))
}

// Others tells if the object has finalizers besides the named one, so that it remains
// even when that one is removed.
func HasOtherFinalizers(object map[string]any, name string) bool {
	return slices.ContainsFunc(finalizers(object), func(item any) bool { return item != any(name) })
}

// Block puts the finalizer on the object, unless it is there. It is a transformation,
// since a merge patch would overwrite what others add at the same time.
func AddFinalizer(p *patch.Patch, name string) {
	p.AddFn(func(obj map[string]any) error {
		if HasFinalizer(obj, name) {
			return nil
		}
		return object.Ensure(obj, field, append(slices.Clone(finalizers(obj)), name))
	})
}

// Allow takes the finalizer off the object. The list goes with its last item.
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
