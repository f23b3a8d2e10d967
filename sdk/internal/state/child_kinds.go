package state

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// ChildKinds records the kinds of an object's children in an annotation, such as "deployments.apps,services". A later release
// that does not declare one of the kinds can then warn about remaining children of the kind. The name of the
// annotation has a hyphen, so it differs from the records of handlers that are identified by the names of their functions.
type ChildKinds struct {
	Prefix string
}

func (s ChildKinds) key(obj map[string]any) string {
	return shortenV2(s.Prefix, markKey("child-kinds", obj))
}

// Read returns the recorded kinds.
func (s ChildKinds) Read(obj map[string]any) []string {
	text, _ := object.Annotations(obj)[s.key(obj)].(string)
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

// Store records the kinds through the patch, if they differ from the recorded ones. The kinds must be sorted.
func (s ChildKinds) Store(obj map[string]any, kinds []string, p *patch.Patch) {
	switch {
	case slices.Equal(kinds, s.Read(obj)):
	case len(kinds) == 0:
		p.Remove(annotation(s.key(obj)))
	default:
		p.Set(annotation(s.key(obj)), strings.Join(kinds, ","))
		storePrefixMarker(s.Prefix, obj, p)
	}
}

// Clear returns the essence without the record; without a record, the essence itself. User-defined storages may regard all
// annotations as a part of the essence.
func (s ChildKinds) Clear(essence map[string]any) map[string]any {
	ours := func(key string) bool { return strings.HasPrefix(key, s.key(nil)) }
	for key := range object.Annotations(essence) {
		if ours(key) {
			return withoutAnnotations(essence, ours)
		}
	}
	return essence
}
