package engine

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// checkPruned warns when the server has thrown away what was put on the status: a
// structural schema does so with all that it does not name, and says nothing.
func (s *server) checkPruned(memory *memory, logger *slog.Logger, p *patch.Patch, made *object.Object) {
	wanted := statusFields(p)
	if len(wanted) == 0 {
		return
	}
	// Nothing is decoded: this is done for each result.
	for field := range object.Members(made.Member("status")) {
		if i := slices.Index(wanted, field); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
		}
	}
	for _, field := range wanted {
		if memory.warnOnce("pruned " + field) {
			logger.Warn(fmt.Sprintf("status.%s was thrown away by the schema of %s. "+
				"Add \"x-kubernetes-preserve-unknown-fields: true\" to the status in its CRD, or declare the field there.",
				field, s.resource.Key()))
		}
	}
}

// statusFields are the fields of the status that a patch sets, sorted.
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
