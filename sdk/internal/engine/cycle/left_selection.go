package cycle

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// leftSelection reports whether an object still exists after an event of its deletion, because its labels do not match
// the selector. The event does not show the reason, because it has the last version that did match. The function reads
// the newest version, unless no handler needs the answer.
func leftSelection(ctx context.Context, d *core.Deps, res *core.ServedResource, last *object.Object) bool {
	if d.Settings.Selection.Labels == "" || !res.Narrowed() || !res.LearnsOfDeletions() {
		return false
	}
	newest, err := d.NewestVersion(ctx, res.Resource, last.Namespace, last.Name, last.UID)
	if err != nil {
		d.ObjectLogger(res.Resource, last).Warn("Cannot find out whether the object was deleted or no longer matches the label selector; assuming the latter",
			observe.EventKey, observe.LogSelectionUnknown, "error", err)
		return true
	}
	return newest != nil
}
