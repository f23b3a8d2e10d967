package serving

import (
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// selection narrows the objects of a stream.
type selection struct {
	labels string
	shards func() string
	keep   func(*object.Object) bool
}

// selectionOf returns the selection of a resource's objects that this operator handles.
func selectionOf(d *core.Deps, res *core.ServedResource) selection {
	own := d.Shards
	if !res.Narrowed() {
		return selection{}
	}
	selected := selection{labels: d.Settings.Selection.Labels}
	if own != nil {
		selected.shards, selected.keep = own.Selector, func(o *object.Object) bool { return own.Owns(res, o) }
	}
	return selected
}
