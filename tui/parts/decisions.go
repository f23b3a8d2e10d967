package parts

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// Decisions draws the decision about each handler of an object, in sections: called, not called, in the background,
// and in earlier causes.
type Decisions struct {
	Screen  *Screen
	Block   *render.Block
	Compact bool // omit details, because the decisions are drawn in a narrow area beside a list
}

// Draw draws the sections.
func (d Decisions) Draw(o *inspect.Object) {
	var called, out, background []*inspect.HandlerState
	all := explain.CalledFirst(o)
	for _, h := range all {
		switch {
		case explain.IsNotCalled(h):
			out = append(out, h)
		case explain.IsBackground(h):
			background = append(background, h)
		default:
			called = append(called, h)
		}
	}
	w := handlerNameWidth(d.Screen, all, 20) + 1
	d.section(o, "called", called, w)
	d.section(o, "not called", out, w)
	d.section(o, "in the background", background, w)
	d.history(o.History)
}

func (d Decisions) gap() {
	if d.Screen.Spacious() && d.Block.Len() > 0 {
		d.Block.Blank()
	}
}

func (d Decisions) section(o *inspect.Object, title string, handlers []*inspect.HandlerState, nameWidth int) {
	if len(handlers) == 0 {
		return
	}
	if title != "called" {
		d.gap()
	}
	d.Block.Rule(fmt.Sprintf("%s  %d", title, len(handlers)), "")
	for _, h := range handlers {
		d.handler(o, h, nameWidth)
	}
}

func (d Decisions) handler(o *inspect.Object, h *inspect.HandlerState, nameWidth int) {
	word := explain.HandlerWordOf(h)
	name, tone := d.Screen.State.NameOf(h), explain.Text
	if h.Parent != "" {
		name = explain.SubName(h)
	}
	if explain.IsNotCalled(h) {
		tone = explain.Dim
	}
	l := d.Block.Line().Skip(1).Put(word.Tone, word.Glyph).Skip(1).Cell(tone, name, nameWidth)
	if !d.Compact || !explain.IsNotCalled(h) {
		width := 13
		if d.Compact {
			width = 9
		}
		l.Cell(word.Tone, word.Text, width)
	}
	if try := explain.Try(h); try != "" && h.State != inspect.PhaseDone {
		l.Put(explain.Dim, try+" ")
	}
	l.Put(noteTone(d.Screen, o, h), Note(d.Screen, o, h))
	if !d.Compact && d.Screen.Spacious() && h.Parent == "" {
		l.Right(explain.Dim, d.Screen.State.SourceOf(h.ID))
	}
	d.Block.End(l)
}

func (d Decisions) history(past []inspect.PastCause) {
	if len(past) == 0 {
		return
	}
	d.gap()
	d.Block.Rule("before", "")
	for _, c := range past {
		word := explain.HandlerWord(inspect.PhaseDone)
		what := ""
		if len(c.Handlers) > 0 {
			what = d.Screen.State.ShortNames(c.Handlers)
			what = strings.TrimSpace(what + " " + explain.Took(c.Took))
		}
		switch {
		case len(c.Failed) > 0:
			word = explain.HandlerWord(inspect.PhaseFailed)
			what = "failed: " + d.Screen.State.ShortNames(c.Failed)
		case c.SupersededAt != "":
			word = explain.HandlerWord(inspect.PhaseSuperseded)
			what += " superseded by v" + c.SupersededAt
		}
		l := d.Block.Line().Skip(1).Put(word.Tone, word.Glyph).Skip(1)
		l.Cell(explain.Dim, explain.Since(d.Screen.Since(c.At)), 9).Cell(explain.Text, explain.ReasonWord(c.Reason), 10).Put(explain.Dim, what)
		d.Block.End(l)
	}
}
