package state

import "maps"

// PausedAnnotation is the annotation that pauses the handling of an object. Its value is the reason for people; "false" means
// that the object is not paused.
const PausedAnnotation = "kopf.dev/paused"

// Paused reports whether an object has the annotation that pauses it, and the reason, which may be empty.
func Paused(tree map[string]any) (reason string, paused bool) {
	metadata, _ := tree["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, there := annotations[PausedAnnotation]
	reason, _ = value.(string)
	return reason, there && reason != "false"
}

// WithoutPaused returns an essence without the annotation that pauses an object, so that pausing and resuming cause no
// updates. It does not modify the given essence.
func WithoutPaused(essence map[string]any) map[string]any {
	metadata, _ := essence["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	if _, there := annotations[PausedAnnotation]; !there {
		return essence
	}
	essence, metadata, annotations = maps.Clone(essence), maps.Clone(metadata), maps.Clone(annotations)
	delete(annotations, PausedAnnotation)
	essence["metadata"], metadata["annotations"] = metadata, annotations
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	if len(metadata) == 0 {
		delete(essence, "metadata")
	}
	return essence
}
