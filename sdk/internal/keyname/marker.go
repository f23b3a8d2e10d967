package keyname

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/fieldpath"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/tree"
)

// StoreMarker adds the annotation by which other operators recognise that all under
// this prefix is an operator's state, and not a change to react to. Prefixes that
// begin with "kopf." get none.
func StoreMarker(prefix string, object map[string]any, p *patch.Patch) {
	if prefix == "" || strings.HasPrefix(prefix, "kopf.") {
		return
	}
	key := prefix + "/kopf-managed"
	path := fieldpath.Path{"metadata", "annotations", key}
	if _, ok := tree.Annotations(object)[key]; ok {
		return
	}
	if _, ok := p.Lookup(path); ok {
		return
	}
	p.Set(path, "yes")
}
