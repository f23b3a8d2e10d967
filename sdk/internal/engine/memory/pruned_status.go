package memory

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// WarnPruned warns if the API server pruned status fields that a patch sets. The API server silently drops all fields
// that a structural schema does not declare.
func (m *Memory) WarnPruned(logger *slog.Logger, res *resources.Resource, p *patch.Patch, patched *object.Object) {
	pruned := statusFields(p)
	if len(pruned) == 0 {
		return
	}
	// Members avoids decoding the object, because this runs for each result.
	for field := range object.Members(patched.Member("status")) {
		if i := slices.Index(pruned, field); i >= 0 {
			pruned = slices.Delete(pruned, i, i+1)
		}
	}
	for _, field := range pruned {
		if m.Flags.WarnOnce("pruned " + field) {
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

// statusFields returns the fields of the status that a patch sets, sorted.
func statusFields(p *patch.Patch) []string {
	var fields []string
	p.Edit(func(merge map[string]any) {
		status, _ := merge["status"].(map[string]any)
		for field, value := range status {
			if value != nil {
				fields = append(fields, field)
			}
		}
	})
	slices.Sort(fields)
	return fields
}
