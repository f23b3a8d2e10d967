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

// WarnPruned warns if the API server pruned status fields that a patch sets, because its schema does not declare them.
func (m *Memory) WarnPruned(logger *slog.Logger, res *resources.Resource, p *patch.Patch, patched *object.Object) {
	value, _ := p.Lookup(object.Path{"status"})
	status, _ := value.(map[string]any)
	if len(status) == 0 {
		return
	}
	advice := "Declare it in the CRD, or add \"x-kubernetes-preserve-unknown-fields: true\" to the status there"
	if res.BuiltIn() {
		advice = "Kubernetes defines this schema: set no result, and keep the value in an annotation or a resource of your own"
	}
	dropped := maps.Clone(status)
	for field := range object.Members(patched.Member("status")) { // does not decode the object, because this runs for each result
		delete(dropped, field)
	}
	for _, field := range object.SortedKeys(dropped) {
		if dropped[field] != nil && m.Flags.WarnOnce("pruned "+field) {
			logger.Warn(fmt.Sprintf("API server dropped status.%s, which the schema of %s does not declare. %s",
				field, res.Key(), advice), observe.EventKey, observe.LogPatchPruned)
		}
	}
}
