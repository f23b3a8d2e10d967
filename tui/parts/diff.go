package parts

import (
	"fmt"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// drawDiff draws at most n differences.
func drawDiff(b *render.Block, diff []inspect.DiffItem, n int) {
	for i, d := range diff {
		if i == n {
			b.End(b.Line().Skip(1).Put(explain.Dim, fmt.Sprintf("… %d more", len(diff)-n)))
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
		return l.Put(explain.Added, "+ ").Put(explain.Text, path+"  ").Put(explain.Added, explain.Value(d.New))
	case inspect.DiffRemove:
		return l.Put(explain.Removed, "- ").Put(explain.Text, path+"  ").Put(explain.Removed, explain.Value(d.Old))
	}
	return l.Put(explain.Warn, "~ ").Put(explain.Text, path+"  ").Put(explain.Removed, explain.Value(d.Old)).
		Put(explain.Dim, " → ").Put(explain.Added, explain.Value(d.New))
}
