package tui

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// whyLines is more than any object has to say.
const whyLines = 400

// drawWhy answers, from top to bottom: what is it in the middle of, what has happened,
// what has changed, who was called, who was not and why not, and what was before.
func (v *objectPage) drawWhy(p *canvas.Pane) {
	c := v.common
	all := c.pane(p.W, whyLines)
	if c.roomy() {
		all.Blank()
	}
	c.drawVerdict(all, v.shown, 4)
	if c.roomy() {
		all.Blank()
	}
	c.drawCause(all, v.shown)
	if c.roomy() {
		all.Blank()
	}
	decisions{c, all, false}.draw(v.shown)

	lines := all.Lines()
	h := p.Left()
	v.why.Fit(len(lines), h)
	lines = lines[v.why.Offset:]
	if len(lines) <= h {
		p.Add(lines...)
		return
	}
	p.Add(lines[:max(0, h-1)]...)
	p.End(p.Line().Skip(1).Put(theme.Dim, fmt.Sprintf("↓ %d more", len(lines)-h+1)))
}

// drawCause tells what has happened to the object and what has changed.
func (c *common) drawCause(p *canvas.Pane, o *inspect.Object) {
	label := func(s string) *canvas.Line { return p.Line().Skip(1).Cell(theme.Dim, s, 10) }
	cause := o.Cause
	if cause == nil {
		p.End(label("cause").Put(theme.Dim, "none: nothing has happened that a handler of changes would run on"))
		return
	}
	l := label("cause").Put(theme.Title, cause.Reason).Skip(2)
	l.Put(theme.Dim, "seen "+words.Back(c.since(cause.Seen))+" at v"+cause.Version)
	switch {
	case cause.First:
		l.Put(theme.Dim, " · never handled before")
	case !cause.LastHandled.IsZero():
		l.Put(theme.Dim, " · last handled "+words.Back(c.since(cause.LastHandled)))
	}
	if !cause.Done.IsZero() {
		l.Put(theme.Dim, " · done "+words.Back(c.since(cause.Done)))
	}
	p.End(l)
	if len(cause.Diff) == 0 && !cause.First {
		p.End(label("changed").Put(theme.Dim, "nothing that counts since it was last handled"))
	}
	for i, d := range cause.Diff {
		name := ""
		if i == 0 {
			name = "changed"
		}
		p.End(putChange(label(name), d))
	}
	if o.Waiting != nil {
		p.End(label("waiting").Put(theme.Dim, fmt.Sprintf("for our patch: wrote v%s, seen v%s", o.Waiting.Wrote, o.Waiting.Seen)))
	}
}
