package patch

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// MaxAnnotationsSize is the maximum size of the names and values of all annotations of an object, in
// bytes. The API server rejects any request that leaves more, even one that removes some.
const MaxAnnotationsSize = 256 * 1024

// AnnotationsSize returns the size of the annotations of an object after a merge patch, in bytes.
func AnnotationsSize(obj, merge map[string]any) int {
	current := object.Annotations(obj)
	size := 0
	for key, value := range current {
		size += len(key) + textLen(value)
	}
	if meta, ok := merge["metadata"]; ok && meta == nil {
		return 0
	}
	if changes, ok := object.Metadata(merge)["annotations"]; ok && changes == nil {
		return 0
	}
	for key, value := range object.Annotations(merge) {
		if before, ok := current[key]; ok {
			size -= len(key) + textLen(before)
		}
		if value != nil {
			size += len(key) + textLen(value)
		}
	}
	return size
}

// DropAnnotations removes annotations for which the function returns true from the patch, and returns
// their names, sorted. It keeps the deletions of annotations.
func (p *Patch) DropAnnotations(drop func(key string) bool) []string {
	var dropped []string
	p.Edit(func(merge map[string]any) {
		annotations := object.Annotations(merge)
		for _, key := range object.SortedKeys(annotations) {
			if annotations[key] != nil && drop(key) {
				discard(merge, []string{"metadata", "annotations", key})
				dropped = append(dropped, key)
			}
		}
	})
	return dropped
}

func textLen(v any) int {
	s, _ := v.(string)
	return len(s)
}
