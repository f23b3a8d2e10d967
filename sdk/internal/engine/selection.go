package engine

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// selection narrows the objects of a stream.
type selection struct {
	labels string
	shards func() string
	keep   func(*object.Object) bool
}

// selectionOf returns what the objects of a resource that the operator handles have in common.
func selectionOf(d *deps, res *servedResource) selection {
	own := d.shards
	if !res.narrowed() {
		return selection{}
	}
	selected := selection{labels: d.settings.Selection.Labels}
	if own != nil {
		selected.shards, selected.keep = own.selector, func(o *object.Object) bool { return own.owns(res, o) }
	}
	return selected
}

// leftSelection reports whether an object with an event of its deletion still exists: its labels do not match
// anymore. The event itself does not tell, since it has the last version that did match. If nobody is to
// learn of the deletion, it is not asked for.
func leftSelection(ctx context.Context, d *deps, res *servedResource, last *object.Object) bool {
	if d.settings.Selection.Labels == "" || !res.narrowed() || !res.learnsOfDeletions() {
		return false
	}
	newest, err := d.newestVersion(ctx, res.resource, last.Namespace, last.Name, last.UID)
	if err != nil {
		d.objectLogger(res.resource, last).Warn("Cannot tell whether the object was deleted or does not match the label selector anymore; assuming the latter",
			observe.EventKey, observe.LogSelectionUnknown, "error", err)
		return true
	}
	return newest != nil
}
