package tui

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
	"github.com/kopf-dev/kopf/tui/verdict"
)

// drawVerdict is the answer to "why": a sentence, in the colour of the state only if it
// is not good news.
func (c *common) drawVerdict(p *canvas.Pane, o *inspect.Object, lines int) {
	token := words.Object(o.State).Token
	if token == theme.OK || token == theme.Dim {
		token = theme.Text
	}
	p.Prose(token, verdict.Of(o, c.now, c.world.held()), lines)
}

// drawPane is the detail of an object beside the list.
func (c *common) drawPane(p *canvas.Pane, o *inspect.Object) {
	w := words.Object(o.State)
	name := canvas.CutMiddle(canvas.Clean(o.Name), p.W-canvas.Width(w.String())-4)
	p.End(p.Line().Skip(1).Put(theme.Title, name).Right(w.Token, w.String()))
	facts := []string{o.Kind, o.Namespace, "v" + o.ResourceVersion, words.Ago(c.since(o.Created)) + " old"}
	if o.Namespace == "" {
		facts = append(facts[:1], facts[2:]...)
	}
	if canvas.Width(strings.Join(facts, " · "))+2 > p.W {
		facts[0] = o.Short
	}
	p.End(p.Line().Skip(1).Put(theme.Dim, strings.Join(facts, " · ")))
	p.Blank()
	c.drawVerdict(p, o, 5)
	if o.Cause != nil && len(o.Cause.Diff) > 0 {
		p.Blank()
		drawDiff(p, o.Cause.Diff, 4)
	}
	p.Blank()
	decisions{c, p, true}.draw(o)
}

// drawStrip is the detail of an object beneath the list: the verdict and the handlers
// that are called. Those that are not share one line.
func (c *common) drawStrip(p *canvas.Pane, o *inspect.Object) {
	c.drawVerdict(p, o, 2)
	var out []string
	called := calledFirst(o)
	for _, h := range called {
		if isOut(h) {
			out = append(out, c.world.nameOf(h))
		}
	}
	room := p.Left()
	if len(out) > 0 {
		room--
	}
	w := c.nameWidth(called, 18)
	for _, h := range called {
		if room == 0 || isOut(h) {
			break
		}
		if h.Parent != "" {
			continue // its error is the parent's
		}
		room--
		c.stripLine(p, h, w)
	}
	if len(out) > 0 {
		p.End(p.Line().Skip(1).Put(theme.Dim, "· not called: "+strings.Join(out, ", ")).Put(theme.Faint, "  w why"))
	}
}

func (c *common) stripLine(p *canvas.Pane, h *inspect.HandlerState, nameWidth int) {
	word := words.Handler(h.State)
	l := p.Line().Skip(1).Put(word.Token, word.Glyph).Skip(1).Cell(theme.Text, c.world.nameOf(h), nameWidth).Skip(1)
	l.Cell(word.Token, word.Text, 10).Skip(1).Cell(theme.Dim, verdict.Try(h), 5).Skip(1)
	l.Put(theme.Dim, c.note(h))
	p.End(l.Right(theme.Dim, c.world.source(h.ID)))
}

// note is what there is to say about a handler that is, or was, called.
func (c *common) note(h *inspect.HandlerState) string {
	switch h.State {
	case inspect.PhaseRetrying:
		if held := c.world.held(); held != "" {
			return "held: " + held
		}
		return words.In(h.Next.Sub(c.now))
	case inspect.PhaseDone:
		return words.Took(h.Took)
	case inspect.PhaseFailed:
		if h.Error != nil {
			return h.Error.Message
		}
	case inspect.PhaseUnknown:
		return "progress on the object, but no such handler; if renamed: kopf.ID"
	case inspect.PhaseRunning, inspect.PhaseAlive:
		if !h.Started.IsZero() {
			return "since " + words.Ago(c.since(h.Started))
		}
	case inspect.PhaseTicking:
		if !h.Next.IsZero() {
			return "next " + words.In(h.Next.Sub(c.now))
		}
	case inspect.PhaseFiltered, inspect.PhaseOtherCause:
		return verdict.Mismatch(h.Why)
	}
	return ""
}

// isOut tells whether a handler is not called for the present cause.
func isOut(h *inspect.HandlerState) bool {
	switch h.State {
	case inspect.PhaseFiltered, inspect.PhaseOtherCause, inspect.PhaseSuperseded:
		return true
	}
	return false
}

// isBackground tells whether a handler does not belong to the cause at all.
func isBackground(h *inspect.HandlerState) bool { return h.Kind == "daemon" || h.Kind == "timer" }

// calledFirst are the handlers of an object: those called, then the others, each in the
// order of registration, and children after their parents.
func calledFirst(o *inspect.Object) []*inspect.HandlerState {
	handlers := make([]*inspect.HandlerState, 0, len(o.Handlers))
	for _, out := range []bool{false, true} {
		for i := range o.Handlers {
			if h := &o.Handlers[i]; isOut(h) == out {
				handlers = append(handlers, h)
			}
		}
	}
	return handlers
}

// childName is the last part of a sub-handler's id: the rest is that of its parent.
func childName(h *inspect.HandlerState) string {
	return "└ " + strings.TrimPrefix(h.ID, h.Parent+"/")
}

// nameWidth is the room for the names of handlers.
func (c *common) nameWidth(handlers []*inspect.HandlerState, most int) int {
	w := 9
	for _, h := range handlers {
		if h.Parent != "" {
			w = max(w, canvas.Width(childName(h)))
		} else {
			w = max(w, canvas.Width(c.world.nameOf(h)))
		}
	}
	return min(w, most)
}

// drawDiff lists what has changed, at most n differences.
func drawDiff(p *canvas.Pane, diff []inspect.DiffItem, n int) {
	for i, d := range diff {
		if i == n {
			p.End(p.Line().Skip(1).Put(theme.Dim, fmt.Sprintf("… %d more", len(diff)-n)))
			return
		}
		p.End(putChange(p.Line().Skip(1), d))
	}
}

func putChange(l *canvas.Line, d inspect.DiffItem) *canvas.Line {
	path := d.Path
	if path == "" {
		path = "(all)"
	}
	switch d.Op {
	case "add":
		return l.Put(theme.Add, "+ ").Put(theme.Text, path+"  ").Put(theme.Add, verdict.Value(d.New))
	case "remove":
		return l.Put(theme.Del, "- ").Put(theme.Text, path+"  ").Put(theme.Del, verdict.Value(d.Old))
	}
	return l.Put(theme.Warn, "~ ").Put(theme.Text, path+"  ").Put(theme.Del, verdict.Value(d.Old)).
		Put(theme.Dim, " → ").Put(theme.Add, verdict.Value(d.New))
}
