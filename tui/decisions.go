package tui

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
	"github.com/kopf-dev/kopf/tui/verdict"
)

// decisions draws what was decided about every handler of an object, in sections: called,
// not called, in the background, and before.
type decisions struct {
	common  *common
	pane    *canvas.Pane
	compact bool // beside the list, where there is less room
}

func (d decisions) draw(o *inspect.Object) {
	var called, out, background []*inspect.HandlerState
	for _, h := range calledFirst(o) {
		switch {
		case isBackground(h) && !isOut(h):
			background = append(background, h)
		case isOut(h):
			out = append(out, h)
		default:
			called = append(called, h)
		}
	}
	w := d.common.nameWidth(calledFirst(o), 20) + 1
	d.section("called", called, w)
	d.section("not called", out, w)
	d.section("in the background", background, w)
	d.history(o.History)
}

func (d decisions) gap() {
	if d.common.roomy() && d.pane.Len() > 0 {
		d.pane.Blank()
	}
}

func (d decisions) section(title string, handlers []*inspect.HandlerState, nameWidth int) {
	if len(handlers) == 0 {
		return
	}
	if title != "called" {
		d.gap()
	}
	d.pane.Rule(fmt.Sprintf("%s  %d", title, len(handlers)), "")
	for _, h := range handlers {
		d.handler(h, nameWidth)
	}
}

func (d decisions) handler(h *inspect.HandlerState, nameWidth int) {
	word := words.Handler(h.State)
	name, token := d.common.world.nameOf(h), theme.Text
	if h.Parent != "" {
		name = childName(h)
	}
	if isOut(h) {
		token = theme.Dim
	}
	l := d.pane.Line().Skip(1).Put(word.Token, word.Glyph).Skip(1).Cell(token, name, nameWidth)
	if !d.compact || !isOut(h) {
		width := 12
		if d.compact {
			width = 9
		}
		l.Cell(word.Token, word.Text, width)
	}
	if try := verdict.Try(h); try != "" && h.State != inspect.PhaseDone {
		l.Put(theme.Dim, try+" ")
	}
	l.Put(d.noteToken(h), d.common.note(h))
	if !d.compact && d.common.roomy() && h.Parent == "" {
		l.Right(theme.Dim, d.common.world.source(h.ID))
	}
	d.pane.End(l)
}

func (d decisions) noteToken(h *inspect.HandlerState) theme.Token {
	switch {
	case h.State == inspect.PhaseFailed || h.State == inspect.PhaseUnknown:
		return theme.Err
	case h.State == inspect.PhaseRetrying && d.common.world.held() == "":
		return theme.Warn
	}
	return theme.Dim
}

func (d decisions) history(past []inspect.PastCause) {
	if len(past) == 0 {
		return
	}
	d.gap()
	d.pane.Rule("before", "")
	for _, c := range past {
		word := words.Handler(inspect.PhaseDone)
		what := ""
		if len(c.Handlers) > 0 {
			what = d.common.world.namesOf(c.Handlers)
			if c.Took != "" {
				what += " " + c.Took
			}
		}
		switch {
		case len(c.Failed) > 0:
			word = words.Handler(inspect.PhaseFailed)
			what = "failed: " + d.common.world.namesOf(c.Failed)
		case c.SupersededAt != "":
			word = words.Handler(inspect.PhaseSuperseded)
			what += " superseded by v" + c.SupersededAt
		}
		l := d.pane.Line().Skip(1).Put(word.Token, word.Glyph).Skip(1)
		l.Cell(theme.Dim, words.Back(d.common.since(c.At)), 9).Cell(theme.Text, c.Reason, 8).Put(theme.Dim, what)
		d.pane.End(l)
	}
}
