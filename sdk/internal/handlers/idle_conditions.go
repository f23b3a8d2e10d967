package handlers

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// IdleConditions returns a warning for each selector of [Registry.KeepConditions] that has no effect in the cluster, because no
// change or reconcile handler is for the selected resources. Handlers with the same selector may wait for their definition.
func (r *Registry) IdleConditions(cluster []resources.Resource) []string {
	var warnings []string
	for _, s := range r.conditioned {
		waiting := slices.ContainsFunc(r.handlers, func(h *Handler) bool {
			return h.Selector == s && (h.Family.Group() == Changing || h.Family.Group() == Reconciling)
		})
		kept := slices.ContainsFunc(s.Select(cluster), func(res resources.Resource) bool { return r.ForResource(&res).KeepsConditions() })
		if !waiting && !kept {
			warnings = append(warnings, "kopf.Conditions has no effect for "+s.String()+
				": no change handler and no reconcile handler is for this resource; register one, or correct the selector")
		}
	}
	return warnings
}
