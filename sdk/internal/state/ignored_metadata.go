package state

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// WithoutMetadata returns the essence without the labels and annotations with the given names. A name that ends with a slash
// is a prefix. It returns the essence itself if nothing changes.
func WithoutMetadata(essence map[string]any, names []string) map[string]any {
	if len(names) == 0 || essence == nil {
		return essence
	}
	ignored := func(key string) bool {
		prefix, _, prefixed := strings.Cut(key, "/")
		return slices.Contains(names, key) || prefixed && slices.Contains(names, prefix+"/")
	}
	changed := essence
	for _, field := range []string{"labels", "annotations"} {
		all, _ := object.Metadata(changed)[field].(map[string]any)
		if rest := filterKeys(all, ignored); len(rest) < len(all) {
			changed = object.With(changed, object.Path{"metadata", field}, rest)
		}
	}
	return WithoutEmpty(changed)
}
