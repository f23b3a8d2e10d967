package object

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// askAgain is the time after which a failed inquiry is repeated, even if the object has not changed.
const askAgain = 5 * time.Second

// childrenPane lists the children of an object with their drifted fields, and the last pass. It asks the operator again when the
// state of the object changes: a change of a child that matters to the object changes the published numbers or the last pass.
type childrenPane struct {
	screen *parts.Screen

	asked   *inspect.Object // state of the object at the last inquiry
	askedAt time.Time
	seen    *inspect.ChildList // last answer of the operator; nil before the first
	err     error              // error of the last inquiry

	rows     []childRow
	list     render.List
	selected childRow // row at the cursor
	top      int      // line of the screen with the titles of the table in the last drawing

	columns childColumns
	below   belowPane
	opened  *yamlPane // the child whose YAML is shown, or nil
}

// childRow is a row of the table: a child, one of its drifted fields, an object below it, or the number of omitted children.
type childRow struct {
	child *inspect.Child // nil for the number of omitted children
	drift *inspect.FieldDrift
	below *belowRow
}

// isSame reports whether a row shows the same child, field or object as a row from an earlier answer.
func (r childRow) isSame(o childRow) bool {
	switch {
	case r.child == nil || o.child == nil:
		return r.child == o.child
	case !explain.SameObject(r.child.Ref, o.child.Ref):
		return false
	case r.below != nil && o.below != nil:
		return r.below.isSame(o.below)
	case r.drift == nil || o.drift == nil || r.below != nil || o.below != nil:
		return r.drift == o.drift && r.below == o.below
	}
	return r.drift.Path == o.drift.Path && r.drift.Manager == o.drift.Manager && r.drift.Outcome == o.drift.Outcome
}

// inquire asks for the children of an object, unless the answer is known.
func (p *childrenPane) inquire(o *inspect.Object) parts.Inquiry {
	if p.asked == o && (p.err == nil || p.screen.Now.Sub(p.askedAt) < askAgain) {
		return nil
	}
	p.asked, p.askedAt = o, p.screen.Now
	return func(ctx context.Context, operator parts.Operator) func() {
		list, err := operator.Children(ctx, o.Ref)
		return func() {
			if p.err = err; err == nil {
				p.seen = list
				p.layOut()
			}
		}
	}
}

// layOut collects the rows. The cursor stays on its row.
func (p *childrenPane) layOut() {
	p.rows, p.below.shown = p.rows[:0], nil
	for i := range p.seen.Children {
		c := &p.seen.Children[i]
		p.rows = append(p.rows, childRow{child: c})
		for k := len(c.Drift) - 1; k >= 0; k-- {
			p.rows = append(p.rows, childRow{child: c, drift: &c.Drift[k]})
		}
		p.layOutBelow(c, c.Ref, 1)
	}
	if p.seen.Omitted > 0 {
		p.rows = append(p.rows, childRow{})
	}
	if i := slices.IndexFunc(p.rows, p.selected.isSame); i >= 0 && p.selected.child != nil {
		p.list.Cursor = i
	}
	p.step(0)
}

func (p *childrenPane) move(d int) {
	if p.opened != nil {
		p.opened.move(d)
		return
	}
	p.step(d)
}

// step moves the cursor of the table by d rows.
func (p *childrenPane) step(d int) {
	p.list.Move(d, len(p.rows))
	if len(p.rows) > 0 {
		p.selected = p.rows[p.list.Cursor]
	}
}

// click selects the row of the table at a line of the screen. It reports whether the row was already selected.
func (p *childrenPane) click(y int) (again bool) {
	if p.opened != nil {
		return p.opened.click(y)
	}
	i := p.list.Offset + y - p.top - 1
	if y <= p.top || i >= len(p.rows) {
		return false
	}
	again = i == p.list.Cursor
	p.step(i - p.list.Cursor)
	return again
}

// cannotOpen returns why the YAML of the selected child, or of the object below it, cannot be shown; empty if it can.
func (p *childrenPane) cannotOpen() string {
	switch c, below := p.selected.child, p.selected.below; {
	case c == nil:
		return "no child is selected"
	case below != nil && below.row == nil:
		return "no object is selected"
	case c.State == "":
		return c.Name + " does not exist"
	case p.screen.State.Attached != "": // the operator serves only objects that it handles
		return "kopf attach does not read children; kopf dev does"
	}
	return ""
}

// open shows the YAML of the selected child, or of the object below it.
func (p *childrenPane) open() {
	ref := p.selected.child.Ref
	if below := p.selected.below; below != nil {
		ref = below.row.Ref
	}
	p.opened = newYAMLPane(p.screen, ref)
	p.opened.refresh()
}

// drawOpened draws the YAML of a child, beneath its state and the fields that others have changed.
func (p *childrenPane) drawOpened(b *render.Block) {
	if p.seen != nil {
		for i := range p.seen.Children {
			c := &p.seen.Children[i]
			if !explain.SameObject(c.Ref, p.opened.ref) {
				continue
			}
			w := explain.ChildWord(c)
			b.End(b.Line().Skip(1).Put(explain.Title, explain.KindName(&c.KindRef)).Skip(2).Put(w.Tone, w.String()).Also(detailTone(c), explain.ChildReason(c)))
			for k := len(c.Drift) - 1; k >= 0 && b.Rest() > b.H/2; k-- {
				b.Prose(explain.DriftWord(&c.Drift[k]).Tone, p.driftText(&c.Drift[k]), 2)
			}
		}
	}
	for _, r := range p.rows {
		if r.below != nil && r.below.row != nil && explain.SameObject(r.below.row.Ref, p.opened.ref) {
			name := explain.KindName(&r.below.row.KindRef)
			l := b.Line().Skip(1).Put(explain.Title, name).Skip(2)
			b.End(l.Put(explain.Dim, cutColumns(columnText(r.below.row.Columns), l.Rest()-1)))
		}
	}
	b.Rule("", "")
	p.opened.draw(b)
}

// worst returns the first child that needs the user, otherwise the first child that is not ready; nil if all are ready or unknown.
func (p *childrenPane) worst() *inspect.Child {
	if p.seen == nil {
		return nil
	}
	var unready *inspect.Child
	for i := range p.seen.Children {
		c := &p.seen.Children[i]
		switch {
		case explain.ChildWord(c).Tone == explain.Err:
			return c
		case unready == nil && c.State != inspect.ChildReady && c.Result != inspect.ResultPruned:
			unready = c
		}
	}
	return unready
}

// draw draws the children of an object, beneath them the whole text of the selected row, and the last pass.
func (p *childrenPane) draw(b *render.Block, o *inspect.Object, gone bool) {
	switch {
	case p.opened != nil:
		p.drawOpened(b)
		return
	case p.seen == nil:
		p.drawNoAnswer(b, o, gone)
		return
	}
	switch {
	case gone:
	case !p.screen.State.Live:
		b.Prose(explain.Warn, "! the operator is not running; this is the last known state of the children", 2)
	case p.err != nil:
		b.Prose(explain.Warn, "! "+p.err.Error(), 2)
	}
	pass := drawPass(p.screen, b.W, b.Rest()/3, o)
	h := b.Rest() - len(pass)
	if len(p.rows) == 0 {
		why := "The reconcile handler applies no children of this object."
		if o.Pass == nil {
			why = "The operator knows no children of this object."
		}
		top := p.screen.Block(b.W, h)
		drawNothing(top, why)
		b.Add(top.Fill()...)
		b.Add(pass...)
		return
	}
	detail := 0
	switch {
	case b.Rest() >= 16 && len(p.columns.byUID)+len(p.columns.unread) > 0:
		detail = 4
	case b.Rest() >= 14:
		detail = 3
	}
	p.top = b.Len()
	top := p.screen.Block(b.W, h-detail)
	p.table(o, b.W).Draw(top, &p.list)
	b.Add(top.Fill()...)
	if detail > 0 {
		beneath := p.screen.Block(b.W, detail)
		p.drawSelected(beneath)
		b.Add(beneath.Fill()...)
	}
	b.Add(pass...)
}

// drawNoAnswer draws the reason why no children are known.
func (p *childrenPane) drawNoAnswer(b *render.Block, o *inspect.Object, gone bool) {
	switch {
	case !explain.KeepsChildren(o):
		drawNothing(b, "No reconcile handler is called for this object, so the operator keeps no children of it.")
	case gone:
		drawNothing(b, "the children of the object were not read before it was deleted")
	case isUnsupported(p.err):
		drawNothing(b, "The operator is built with an older release of Kopf, which does not report the children of objects.")
	case p.err != nil:
		b.Blank()
		b.Prose(explain.Warn, "! "+p.err.Error(), 3)
	case !p.screen.State.Live:
		drawNothing(b, "the operator is not running")
	default:
		drawNothing(b, "asking the operator for the children")
	}
}

func isUnsupported(err error) bool {
	_, ok := errors.AsType[*inspect.UnsupportedError](err)
	return ok
}

// drawSelected draws the whole text of the selected row.
func (p *childrenPane) drawSelected(b *render.Block) {
	r := p.selected
	if r.child == nil {
		b.Rule("", "")
		b.Prose(explain.Dim, "Children that are not ready are listed before the others.", 1)
		return
	}
	if r.below != nil {
		p.drawSelectedBelow(b, r.below)
		return
	}
	b.Rule(explain.KindName(&r.child.KindRef), r.child.Resource)
	parts.DrawPlanMark(p.screen, b, r.child.Ref, 0)
	if text := p.columns.of(r.child); text != "" && b.H > 3 {
		b.End(b.Line().Skip(1).Put(explain.Dim, cutColumns(text, b.W-2)))
	} else if err := p.columns.unread[r.child.Resource]; err != nil && b.H > 3 {
		b.Prose(explain.Warn, "! the columns of kubectl are unknown: "+err.Error(), 1)
	}
	switch {
	case r.drift != nil:
		b.Prose(explain.DriftWord(r.drift).Tone, p.driftText(r.drift), b.Rest())
	case explain.ChildReason(r.child) != "":
		b.Prose(detailTone(r.child), explain.ChildReason(r.child), b.Rest())
	case len(r.child.Drift) > 0:
		b.Prose(explain.Dim, "Others have changed "+explain.Count(len(r.child.Drift), "field")+" that the reconcile handler applies.", 2)
	case r.child.State == inspect.ChildReady:
		b.Prose(explain.Dim, "The child is as the reconcile handler described it.", 1)
	}
}

func (p *childrenPane) driftText(d *inspect.FieldDrift) string {
	return explain.DriftWord(d).Text + ": " + explain.ChildDrift(d) + ", " + explain.Since(p.screen.Since(d.At))
}
