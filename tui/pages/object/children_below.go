package object

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// belowPane has the objects below the unfolded children, such as the ReplicaSets of a Deployment and their Pods. The workbench reads
// them from the cluster, because controllers of Kubernetes create them and the operator does not know them.
type belowPane struct {
	unfolded map[string]bool    // UIDs of the objects that the user has unfolded
	read     map[string]*answer // last answers, by the UID of the owner
	shown    []inspect.Ref      // unfolded objects that have rows
	readAt   time.Time          // time of the last read of all unfolded objects
}

// answer are the objects below an object.
type answer struct {
	rows []runner.Row
	more bool // there are further objects
	err  error
}

// belowRow is a row of the table with an object below a child, or with a note instead of objects.
type belowRow struct {
	owner inspect.Ref
	depth int         // 1 directly below the child
	row   *runner.Row // row of kubectl's table; nil for a note
	tone  explain.Tone
	note  string
}

// isSame reports whether two rows show the same object, or a note in the same place.
func (r *belowRow) isSame(o *belowRow) bool {
	if r.row == nil || o.row == nil {
		return r.row == o.row && r.owner.UID == o.owner.UID
	}
	return r.row.UID == o.row.UID
}

// layOutBelow appends the rows below an object of the cluster, if it is unfolded.
func (p *childrenPane) layOutBelow(c *inspect.Child, of inspect.Ref, depth int) {
	if !p.below.unfolded[of.UID] || c.State == "" {
		return
	}
	p.below.shown = append(p.below.shown, of)
	add := func(r belowRow) {
		r.owner, r.depth = of, depth
		p.rows = append(p.rows, childRow{child: c, below: &r})
	}
	a := p.below.read[of.UID]
	if a == nil {
		add(belowRow{tone: explain.Dim, note: "reading from the cluster"})
		return
	}
	for i := range a.rows {
		add(belowRow{row: &a.rows[i]})
		p.layOutBelow(c, a.rows[i].Ref, depth+1)
	}
	switch {
	case a.err != nil:
		add(belowRow{tone: explain.Err, note: "✗ " + a.err.Error()})
	case a.more:
		add(belowRow{tone: explain.Dim, note: "… and more"})
	case len(a.rows) == 0:
		add(belowRow{tone: explain.Dim, note: "none"})
	}
}

// belowText returns a row as a line of at most w cells.
func (p *childrenPane) belowText(r *belowRow, w int) string {
	text := strings.Repeat("  ", r.depth-1) + "└ "
	if r.row == nil {
		return text + r.note
	}
	text += p.foldMark(r.row.Ref) + explain.KindName(&r.row.KindRef)
	if columns := columnText(r.row.Columns); columns != "" {
		text += "  " + cutColumns(columns, max(0, w-render.Width(text)-2))
	}
	return text
}

// foldMark returns the mark in front of the name of an object that can be unfolded; empty for other objects.
func (p *childrenPane) foldMark(ref inspect.Ref) string {
	switch {
	case len(runner.ResourcesBelow(ref.Resource)) == 0 || p.screen.State.Attached != "":
		return ""
	case p.below.unfolded[ref.UID]:
		return "▾ "
	}
	return "▸ "
}

// foldable returns the object of the selected row that can be folded or unfolded; for the row of a note, its owner.
func (p *childrenPane) foldable() inspect.Ref {
	r := p.selected
	switch {
	case r.child == nil:
		return inspect.Ref{}
	case r.below == nil:
		return r.child.Ref
	case r.below.row == nil:
		return r.below.owner
	}
	return r.below.row.Ref
}

// cannotFold returns why the selected row cannot be folded or unfolded; empty if it can.
func (p *childrenPane) cannotFold() string {
	c := p.selected.child
	switch {
	case c == nil:
		return "no child is selected"
	case p.screen.State.Attached != "":
		return "kopf attach does not read children; kopf dev does"
	case c.State == "":
		return c.Name + " does not exist"
	case len(runner.ResourcesBelow(p.foldable().Resource)) == 0:
		return "only workloads, such as Deployments and Jobs, have objects below them"
	}
	return ""
}

// fold unfolds the object of the selected row, or folds it and moves the cursor to it.
func (p *childrenPane) fold() {
	ref := p.foldable()
	if r := p.selected; r.below != nil && r.below.row == nil { // the row is a note, which disappears with the fold
		if p.selected = (childRow{child: r.child}); ref.UID != r.child.UID {
			p.selected.below = &belowRow{row: &runner.Row{KindRef: inspect.KindRef{Ref: ref}}}
		}
	}
	if p.below.unfolded[ref.UID] {
		delete(p.below.unfolded, ref.UID)
		delete(p.below.read, ref.UID)
	} else {
		if p.below.unfolded == nil {
			p.below.unfolded, p.below.read = map[string]bool{}, map[string]*answer{}
		}
		p.below.unfolded[ref.UID] = true
	}
	p.layOut()
}

// readBelow reads the objects below the unfolded objects: immediately after an object was unfolded, then every few seconds.
func (p *childrenPane) readBelow() parts.Inquiry {
	b, s := &p.below, p.screen
	if p.opened != nil || s.State.NotConnected() != "" {
		return nil
	}
	all := s.Now.Sub(b.readAt) >= readAgain
	var owners []inspect.Ref
	for _, ref := range b.shown {
		if all || b.read[ref.UID] == nil {
			owners = append(owners, ref)
		}
	}
	if len(owners) == 0 {
		return nil
	}
	if all {
		b.readAt = s.Now
	}
	hidden := s.State.Snapshot.Operator.Hidden
	return func(ctx context.Context, operator parts.Operator) func() {
		answers := make([]answer, len(owners))
		objects := operator.Objects()
		var tasks sync.WaitGroup
		for i, ref := range owners {
			a := &answers[i]
			if a.err = errNotConnected; objects != nil {
				tasks.Go(func() { a.rows, a.more, a.err = objects.Below(ctx, ref, hidden) })
			}
		}
		tasks.Wait()
		return func() {
			for i, ref := range owners {
				if b.unfolded[ref.UID] { // otherwise, the user has folded it in the meantime
					b.read[ref.UID] = &answers[i]
				}
			}
			p.layOut()
		}
	}
}

// drawSelectedBelow draws all columns of the selected object below a child, or the whole note.
func (p *childrenPane) drawSelectedBelow(b *render.Block, r *belowRow) {
	if r.row == nil {
		b.Rule(r.owner.Name, r.owner.Resource)
		b.Prose(r.tone, r.note, b.Rest())
		return
	}
	b.Rule(explain.KindName(&r.row.KindRef), r.row.Resource)
	drawColumns(b, columnText(r.row.Columns), b.Rest())
}
