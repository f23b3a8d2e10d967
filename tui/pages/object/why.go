package object

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// whyLines is the maximum number of lines of the tab, which no object reaches.
const whyLines = 400

// drawWhy answers, from top to bottom: the present activity, the last event, the changes, the called handlers, the
// excluded handlers with the reasons, and the history.
func (p *Page) drawWhy(b *render.Block) {
	s := p.screen
	all := s.Block(b.W, whyLines)
	gap := func() {
		if s.Spacious() {
			all.Blank()
		}
	}
	gap()
	parts.DrawVerdict(s, all, p.last, 4)
	gap()
	parts.DrawPlanMark(s, all, p.ref, 40)
	if owner := s.State.OwnerOf(p.last); owner != nil {
		all.End(all.Line().Skip(1).Cell(explain.Dim, "child of", 10).Put(explain.Text, owner.Kind+" "+owner.Name))
	}
	drawWoken(s, all, p.last, p.children.worst())
	if !explain.KeepsChildren(p.last) || p.last.Cause != nil {
		drawCause(s, all, p.last)
	}
	p.drawOwnColumns(all)
	drawUnreadable(all, p.last)
	gap()
	parts.Decisions{Screen: s, Block: all}.Draw(p.last)

	h := b.Rest()
	if h == 0 {
		return
	}
	p.why.SetWidth(b.W)
	p.why.SetHeight(h)
	p.why.SetContentLines(all.Lines())
	visible := strings.Split(p.why.View(), "\n")
	if more := all.Len() - p.why.YOffset() - h; more > 0 {
		visible[h-1] = s.Line(b.W).Skip(1).Put(explain.Dim, fmt.Sprintf("↓ %d more", more+1)).String()
	}
	b.Add(visible...)
}

// drawCause draws what happened to the object and what changed.
func drawCause(s *parts.Screen, b *render.Block, o *inspect.Object) {
	label := func(name string) *render.Line { return b.Line().Skip(1).Cell(explain.Dim, name, 10) }
	cause := o.Cause
	if cause == nil {
		b.End(label("cause").Put(explain.Dim, "none: nothing has happened that a change handler runs on"))
		return
	}
	l := label("cause").Put(explain.Title, explain.ReasonWord(cause.Reason)).Skip(2)
	l.Put(explain.Dim, "seen "+explain.Since(s.Since(cause.Seen))+" at v"+cause.Version)
	switch {
	case cause.First:
		l.Put(explain.Dim, " · never handled before")
	case !cause.LastHandled.IsZero():
		l.Put(explain.Dim, " · last handled "+explain.Since(s.Since(cause.LastHandled)))
	}
	if !cause.Done.IsZero() {
		l.Put(explain.Dim, " · done "+explain.Since(s.Since(cause.Done)))
	}
	b.End(l)
	if len(cause.Diff) == 0 && !cause.First {
		b.End(label("changed").Put(explain.Dim, "nothing essential since it was last handled"))
	}
	for i, d := range cause.Diff {
		name := ""
		if i == 0 {
			name = "changed"
		}
		b.End(parts.PutDifference(label(name), d))
	}
	if f := o.Failing; f != nil && f.DeniedBy != "" {
		b.End(label("denied").Put(explain.Warn, "by "+f.DeniedBy+": "+f.Message))
	} else if f != nil {
		b.End(label("fails").Put(explain.Warn, f.Message))
	}
	if o.Waiting != nil {
		b.End(label("waiting").Put(explain.Dim, fmt.Sprintf("for our patch: wrote v%s, seen v%s", o.Waiting.Wrote, o.Waiting.Seen)))
	}
}

// drawUnreadable draws the operator's unreadable records on the object.
func drawUnreadable(b *render.Block, o *inspect.Object) {
	for i, u := range o.Unreadable {
		name := ""
		if i == 0 {
			name = "set aside"
		}
		b.End(b.Line().Skip(1).Cell(explain.Warn, name, 10).Put(explain.Text, u.What).Put(explain.Dim, " cannot be read: "+u.Error))
		b.End(b.Line().Skip(1).Cell(explain.Dim, "", 10).Put(explain.Dim, fmt.Sprintf("it was at %s, and is kept at %s", u.Where, u.Aside)))
	}
}
