package object

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// ownColumns are the columns that kubectl would show for the object, read from the cluster.
type ownColumns struct {
	columns []runner.Column
	err     error // error of the last read
	readAt  time.Time
}

// readOwnColumns reads the columns of the object from the cluster, every few seconds.
func (p *Page) readOwnColumns() parts.Inquiry {
	s, own := p.screen, &p.columns
	if p.gone || s.State.NotConnected() != "" || s.Now.Sub(own.readAt) < readAgain {
		return nil
	}
	own.readAt = s.Now
	q := runner.RowQuery{Resource: p.ref.Resource, Namespace: p.ref.Namespace, Name: p.ref.Name, Hidden: s.State.Snapshot.Operator.Hidden}
	return func(ctx context.Context, operator parts.Operator) func() {
		byUID, unread := columnsOf(ctx, operator.Objects(), []runner.RowQuery{q})
		return func() { own.columns, own.err = byUID[p.ref.UID], unread[q.Resource] }
	}
}

// drawOwnColumns draws the columns of the object, or the reason why they are unknown.
func (p *Page) drawOwnColumns(b *render.Block) {
	l := b.Line().Skip(1).Cell(explain.Dim, "kubectl", 10)
	switch text := columnText(p.columns.columns); {
	case p.screen.State.NotConnected() != "" || text == "" && p.columns.err == nil:
	case p.columns.err != nil:
		b.End(l.Put(explain.Warn, "! the columns are unknown: "+p.columns.err.Error()))
	default:
		b.End(l.Put(explain.Dim, cutColumns(text, l.Rest()-1)))
	}
}
