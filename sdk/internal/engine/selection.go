package engine

import (
	"github.com/kopf-dev/kopf/sdk/internal/object"
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
