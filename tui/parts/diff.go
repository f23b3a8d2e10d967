package parts

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/render"
)

// drawDiff draws at most n differences.
func drawDiff(b *render.Block, diff []inspect.DiffItem, n int) {
	for i, d := range diff {
		if i == n {
			b.End(b.Line().Skip(1).Put(model.Dim, fmt.Sprintf("… %d more", len(diff)-n)))
			return
		}
		b.End(PutDifference(b.Line().Skip(1), d))
	}
}

// PutDifference puts one difference on a line.
func PutDifference(l *render.Line, d inspect.DiffItem) *render.Line {
	path := d.Path
	if path == "" {
		path = "(all)"
	}
	switch d.Op {
	case inspect.DiffAdd:
		return l.Put(model.Added, "+ ").Put(model.Text, path+"  ").Put(model.Added, model.Value(d.New))
	case inspect.DiffRemove:
		return l.Put(model.Removed, "- ").Put(model.Text, path+"  ").Put(model.Removed, model.Value(d.Old))
	}
	return l.Put(model.Warn, "~ ").Put(model.Text, path+"  ").Put(model.Removed, model.Value(d.Old)).
		Put(model.Dim, " → ").Put(model.Added, model.Value(d.New))
}
