package tui

import (
	"fmt"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// draw makes the lines of the screen, each of exactly its width.
//
//	header   who
//	tabs     where
//	rule     or the alarm: it takes the place of the rule, so that nothing moves
//	answer   what one has opened the view for
//	body
//	help     what is possible
func (r *root) draw() []string {
	c := r.common
	c.zones.all = c.zones.all[:0]
	if c.width < 1 || c.height < 1 {
		return nil
	}
	p := c.pane(c.width, c.height)
	if c.speck() {
		r.drawSpeck(p)
		return p.Fill()
	}
	r.drawHeader(p)
	if c.tiny() {
		r.drawShort(p)
	} else {
		r.drawTabs(p)
		r.drawAlarm(p)
		r.drawAnswer(p)
	}
	strip := r.stripHeight()
	p.Add(r.view().body(c.width, p.Left()-1-strip)...)
	if strip > 0 {
		p.Add(r.strip.lines(c.width, strip, r.object)...)
	}
	r.drawHelp(p)
	lines := p.Fill()
	r.drawToast(lines)
	if r.overlay != nil {
		box := r.overlay.box(c)
		canvas.Over(lines, box.lines, max(0, (c.width-box.width)/2), max(0, (c.height-len(box.lines))/3))
	}
	return lines
}

// bodyTop is the line of the screen where the body begins.
func (r *root) bodyTop() int {
	if r.common.tiny() {
		return 2
	}
	return 4
}

func (r *root) stripHeight() int {
	c := r.common
	switch {
	case !r.strip.shown || c.tiny() || c.height < tallFrom || r.current == viewLog && r.object == nil || r.object != nil && r.object.tab == tabLog:
		return 0
	case c.height >= tallerFrom:
		return 12
	}
	return 8
}

// drawSpeck is for terminals where nothing but four numbers can be read.
func (r *root) drawSpeck(p *canvas.Pane) {
	l := p.Line()
	for u, slot := range slots {
		if u > 0 {
			l.Skip(2)
		}
		l.Put(slot.token, fmt.Sprintf("%s %d", slot.glyph, r.common.world.counts[u]))
	}
	p.End(l)
}

// drawShort is the second line of small terminals: where one is, and the answer.
func (r *root) drawShort(p *canvas.Pane) {
	l := p.Line().Skip(1).Put(theme.Accent, r.current.key()+" "+viewNames[r.current])
	switch {
	case r.typing():
		r.view().search().draw(l.Skip(2))
	case r.object != nil:
		name := r.object.tab.String()
		l.Put(theme.Dim, " › ").Put(theme.Text, canvas.CutMiddle(canvas.Clean(r.object.ref.Name), l.Rest()-len(name)-2))
		l.Put(theme.Accent, " "+name)
	default:
		r.view().answer(l.Skip(2), true)
	}
	p.End(l)
}

// drawAnswer is the line that every view has beneath the rule.
func (r *root) drawAnswer(p *canvas.Pane) {
	l := p.Line().Skip(1)
	r.view().answer(l, false)
	p.End(l)
}
