package patch

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// MaxAnnotationsSize limits the total size of the names and values of an object's
// annotations, in bytes. The API server rejects all requests that leave more of them, even
// those that remove some.
const MaxAnnotationsSize = 256 * 1024

// AnnotationsSize returns the size of an object's annotations after a merge patch, to be
// compared with [MaxAnnotationsSize].
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

// DropAnnotations removes from the patch the annotations for which drop returns true, and
// returns their names in order. It keeps the deletions of annotations, which make room.
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
