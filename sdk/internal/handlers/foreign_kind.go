package handlers

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ForeignKinds returns a warning for each handler of a resource whose Go type is made for another kind of the
// cluster. A type that is only named in another way than the resource's kind is not mentioned, nor are handlers of
// categories and of everything.
func (r *Registry) ForeignKinds(res *resources.Resource, cluster []resources.Resource) []string {
	var warnings []string
	for _, h := range r.handlers {
		if h.ObjectKind == "" || h.ObjectKind == res.Kind || h.Selector.Several() || !h.Selector.Match(res) {
			continue
		}
		for i := range cluster {
			if cluster[i].Kind == h.ObjectKind {
				warnings = append(warnings, fmt.Sprintf("%s (%s) is for %s, but its Go type belongs to another kind, %s; register it for %s, or change the type",
					h, h.ShortSource(), res.Key(), h.ObjectKind, cluster[i].Key()))
				break
			}
		}
	}
	return warnings
}
