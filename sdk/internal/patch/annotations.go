package patch

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// MaxAnnotationsSize is how many bytes the names and values of all annotations of an
// object may have together. The server refuses any request that leaves more of them,
// even if that request takes some away.
const MaxAnnotationsSize = 256 * 1024

// AnnotationsSize returns how many bytes the annotations of an object will have after
// a merge patch. Above [MaxAnnotationsSize], the server will refuse the patch.
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

// DropAnnotations takes the annotations out of the patch that it would write, if the
// function says so, and returns their names in order. What it deletes stays: with too
// many annotations, deleting is what helps.
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
