// Package finalizer blocks and allows the deletion of objects.
package finalizer

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/fieldpath"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/tree"
)

// Default is the finalizer of operators that do not choose another one.
const Default = "kopf.zalando.org/KopfFinalizerMarker"

var field = fieldpath.Path{"metadata", "finalizers"}

// Deleting tells if somebody has requested the deletion of the object.
func Deleting(object map[string]any) bool {
	return tree.Metadata(object)["deletionTimestamp"] != nil
}

// Blocked tells if the finalizer is on the object, so that its deletion has to wait.
func Blocked(object map[string]any, name string) bool {
	return slices.Contains(finalizers(object), any(name))
}

// Others tells if the object has finalizers besides the named one, so that it remains
// even when that one is removed.
func Others(object map[string]any, name string) bool {
	return slices.ContainsFunc(finalizers(object), func(item any) bool { return item != any(name) })
}

// Block puts the finalizer on the object, unless it is there. It is a transformation,
// since a merge patch would overwrite what others add at the same time.
func Block(p *patch.Patch, name string) {
	p.AddFn(func(object map[string]any) error {
		if Blocked(object, name) {
			return nil
		}
		return fieldpath.Ensure(object, field, append(slices.Clone(finalizers(object)), name))
	})
}

// Allow takes the finalizer off the object. The list goes with its last item.
func Allow(p *patch.Patch, name string) {
	p.AddFn(func(object map[string]any) error {
		rest := slices.DeleteFunc(slices.Clone(finalizers(object)), func(item any) bool { return item == any(name) })
		if len(rest) == 0 {
			return fieldpath.Remove(object, field)
		}
		return fieldpath.Ensure(object, field, rest)
	})
}

func finalizers(object map[string]any) []any {
	list, _ := tree.Metadata(object)["finalizers"].([]any)
	return list
}
