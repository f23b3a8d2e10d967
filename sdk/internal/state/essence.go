package state

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Annotations of operators have a known prefix, or a prefix with a marker annotation.
const (
	knownPrefix = "kopf.zalando.org"
	marker      = "kopf-managed"
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// BuildEssence returns the essence of an object: all fields except its type, metadata and status, plus its labels and
// annotations, without the annotations of operators and kubectl.
//
// The essence always includes the extra fields, such as status fields that handlers name. It never includes the ignored
// fields. It shares its values with the object.
func BuildEssence(obj map[string]any, extra, ignored []object.Path) map[string]any {
	out := make(map[string]any, len(obj))
	for key, value := range obj {
		switch key {
		case "apiVersion", "kind", "metadata", "status":
		default:
			out[key] = value
		}
	}
	if meta := essentialMetadata(object.Metadata(obj)); meta != nil {
		out["metadata"] = meta
	}
	for _, path := range extra {
		if value, err := object.Resolve(obj, path); err == nil && len(path) > 0 {
			out = object.With(out, path, value)
		}
	}
	out = WithoutEmpty(out)
	for _, path := range ignored {
		out = object.Without(out, path)
	}
	return out
}

// essentialMetadata returns a new map with the labels and annotations, or nil if there are none.
func essentialMetadata(meta map[string]any) map[string]any {
	labels, hasLabels := meta["labels"]
	annotations, hasAnnotations := meta["annotations"]
	if !hasLabels && !hasAnnotations {
		return nil
	}
	out := make(map[string]any, 2)
	if hasLabels {
		out["labels"] = labels
	}
	if all, ok := annotations.(map[string]any); ok {
		out["annotations"] = filterKeys(all, foreign(all))
	} else if hasAnnotations {
		out["annotations"] = annotations
	}
	return out
}

// foreign returns a function that reports whether operators or kubectl wrote an annotation. A marker among the annotations
// applies to all annotations with its prefix.
func foreign(annotations map[string]any) func(key string) bool {
	var marked []string
	for key := range annotations {
		prefix, name, ok := strings.Cut(key, "/")
		if ok && name == marker {
			marked = append(marked, prefix)
		}
	}
	return func(key string) bool {
		prefix, _, ok := strings.Cut(key, "/")
		if !ok {
			return false
		}
		if key == lastApplied || isKnown(prefix) {
			return true
		}
		for _, m := range marked {
			if prefix == m {
				return true
			}
		}
		return false
	}
}

func isKnown(prefix string) bool {
	rest, ok := strings.CutSuffix(prefix, knownPrefix)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}

// filterKeys returns the map without the keys for which drop returns true. If there are none, it returns the map itself.
func filterKeys(m map[string]any, drop func(key string) bool) map[string]any {
	dropped := 0
	for key := range m {
		if drop(key) {
			dropped++
		}
	}
	if dropped == 0 {
		return m
	}
	out := make(map[string]any, len(m)-dropped)
	for key, value := range m {
		if !drop(key) {
			out[key] = value
		}
	}
	return out
}

// withoutAnnotations returns the essence without some annotations, and without parents that become empty. If nothing
// changes, it returns the essence itself.
func withoutAnnotations(essence map[string]any, drop func(key string) bool) map[string]any {
	annotations := object.Annotations(essence)
	rest := filterKeys(annotations, drop)
	if len(rest) == len(annotations) {
		return essence
	}
	return WithoutEmpty(object.With(essence, object.Path{"metadata", "annotations"}, rest))
}

// WithoutEmpty returns the essence without empty labels, annotations, metadata and status. If nothing changes, it returns
// the essence itself.
func WithoutEmpty(essence map[string]any) map[string]any {
	for _, path := range mayBeEmpty {
		if v, ok := object.Lookup(essence, path); ok && isEmpty(v) {
			essence = object.Without(essence, path)
		}
	}
	return essence
}

var mayBeEmpty = []object.Path{{"metadata", "annotations"}, {"metadata", "labels"}, {"metadata"}, {"status"}}

// isEmpty reports whether a value is false in a condition in Python.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	default:
		return object.Equal(v, false)
	}
}
