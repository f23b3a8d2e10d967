package memory

import (
	"fmt"
	"log/slog"
	"maps"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// WarnPruned warns if the API server pruned status fields that a patch sets. The API server silently drops all fields
// that a structural schema does not declare.
func (m *Memory) WarnPruned(logger *slog.Logger, res *resources.Resource, p *patch.Patch, patched *object.Object) {
	value, _ := p.Lookup(object.Path{"status"})
	status, _ := value.(map[string]any)
	if len(status) == 0 {
		return
	}
	dropped := maps.Clone(status)
	for field := range object.Members(patched.Member("status")) { // does not decode the object, because this runs for each result
		delete(dropped, field)
	}
	for _, field := range object.SortedKeys(dropped) {
		if dropped[field] != nil && m.Flags.WarnOnce("pruned "+field) {
			logger.Warn(fmt.Sprintf("API server dropped status.%s, which the schema of %s does not declare. %s",
				field, res.Key(), adviceAgainstPruning(res)), observe.EventKey, observe.LogPatchPruned)
		}
	}
}

// adviceAgainstPruning returns the next step for the user. The schema of built-in resources cannot be changed.
func adviceAgainstPruning(res *resources.Resource) string {
	if res.BuiltIn() {
		return "Kubernetes defines this schema: set no result, and keep the value in an annotation or a resource of your own"
	}
	return "Declare it in the CRD, or add \"x-kubernetes-preserve-unknown-fields: true\" to the status there"
}
