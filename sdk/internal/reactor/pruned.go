package reactor

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

// checkPruned warns when the server has thrown away what was put on the status: a
// structural schema does so with all that it does not name, and says nothing.
func (c *cycle) checkPruned(p *patch.Patch, made *wire.Object) error {
	wanted, _ := p.Tree()["status"].(map[string]any)
	if len(wanted) == 0 {
		return nil
	}
	tree, err := made.Tree()
	if err != nil {
		return fmt.Errorf("the patched object does not decode: %w", err)
	}
	defer made.Forget()
	status, _ := tree["status"].(map[string]any)
	for field, value := range wanted {
		if _, kept := status[field]; kept || value == nil {
			continue
		}
		if c.memory.warnOnce("pruned " + field) {
			c.logger.Warn(fmt.Sprintf("status.%s was thrown away by the schema of %s. "+
				"Add \"x-kubernetes-preserve-unknown-fields: true\" to the status in its CRD, or declare the field there.",
				field, c.resource.Key()))
		}
	}
	return nil
}
