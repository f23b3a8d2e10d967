package tui

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// draw returns the lines of the screen, each of exactly its width:
//
//	header   what is developed, and the states of operator, build and cluster
//	tabs
//	alarm    or a rule, so that nothing moves
//	summary  what the user opened the page for
//	page
//	log      its end, where there is space
//	help     the keys
func (a *app) draw() []string {
	s := a.screen
	s.Clicks.Reset()
	if s.Width < 1 || s.Height < 1 {
		return nil
	}
	b := s.Block(s.Width, s.Height)
	if s.Minimal() {
		l := b.Line()
		parts.DrawShortCounters(s, l)
		b.End(l)
		lines := b.Fill()
		a.drawDialog(lines) // the keys of the dialog have an effect, so it must be visible
		return lines
	}
	a.drawTop(b)
	strip := a.logStripHeight()
	if h := b.Rest() - 1 - strip; h > 0 {
		p := a.page()
		p.SetSize(s.Width, h)
		b.Add(strings.Split(p.View(), "\n")...)
	}
	if strip > 0 {
		b.Add(parts.LogStrip(s, s.Width, strip, a.openRef())...)
	}
	switch {
	case a.dialog != nil:
		parts.DrawOnlyHelp(s, b, a.dialog.Keys())
	case a.typing():
		parts.DrawOnlyHelp(s, b, parts.WhileTyping)
	default:
		parts.DrawHelp(s, b, a.actions())
	}
	lines := b.Fill()
	a.toast.Draw(s, lines)
	a.drawDialog(lines)
	return lines
}

// drawTop draws everything above the page.
func (a *app) drawTop(b *render.Block) {
	s := a.screen
	current := a.current
	if a.object != nil {
		current = ""
	}
	parts.DrawHeader(s, b, a.title(), current)
	if s.Small() {
		a.drawPosition(b)
		return
	}
	parts.DrawTabs(s, b, a.current)
	parts.DrawAlarm(s, b)
	l := b.Line().Skip(1)
	a.page().Summary(l, false)
	b.End(l)
}

// topHeight returns the number of lines above the page.
func (a *app) topHeight() int {
	if a.screen.Small() {
		return 2
	}
	return 4
}

// drawPosition draws the second line of small terminals: the current page, and its summary.
func (a *app) drawPosition(b *render.Block) {
	l := b.Line().Skip(1).Put(explain.Accent, string(a.current)+" "+a.current.Title())
	switch {
	case a.typing():
		a.page().Filter().Draw(a.screen, l.Skip(2))
	case a.object != nil:
		tab := a.object.Tab().String()
		l.Put(explain.Dim, " › ").Put(explain.Text, render.CutMiddle(render.Clean(a.object.Ref().Name), l.Rest()-len(tab)-2))
		l.Put(explain.Accent, " "+tab)
	default:
		a.page().Summary(l.Skip(2), true)
	}
	b.End(l)
}

// logStripHeight returns the height of the log strip. It is 0 if the strip is off, or the
// page shows the log.
func (a *app) logStripHeight() int {
	showsLog := a.object == nil && a.current == parts.LogPage || a.object != nil && a.object.Tab() == parts.LogTab
	if !a.logStrip || showsLog {
		return 0
	}
	return a.screen.LogStripHeight()
}

// openRef returns the reference of the open object, or nil.
func (a *app) openRef() *inspect.Ref {
	if a.object == nil {
		return nil
	}
	ref := a.object.Ref()
	return &ref
}

// drawDialog lays the dialog on the screen.
func (a *app) drawDialog(lines []string) {
	if a.dialog == nil {
		return
	}
	s := a.screen
	box := a.dialog.View(s, a.offered())
	first, _, _ := strings.Cut(box, "\n")
	height := strings.Count(box, "\n") + 1
	render.Overlay(lines, box, max(0, (s.Width-render.StyledWidth(first))/2), max(0, (s.Height-height)/3))
}
