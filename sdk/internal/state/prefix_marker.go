package state

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// StoreMarker adds the annotation by which other operators recognise that all under
// this prefix is an operator's state, and not a change to react to. Prefixes that
// begin with "kopf." get none.
func StorePrefixMarker(prefix string, obj map[string]any, p *patch.Patch) {
	if prefix == "" || strings.HasPrefix(prefix, "kopf.") {
		return
	}
	key := prefix + "/kopf-managed"
	path := object.Path{"metadata", "annotations", key}
	if _, ok := object.Annotations(obj)[key]; ok {
		return
	}
	if _, ok := p.Lookup(path); ok {
		return
	}
	p.Set(path, "yes")
}
