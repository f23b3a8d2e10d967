package tui

import (
	"strconv"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
	"github.com/kopf-dev/kopf/tui/verdict"
)

// drawAttempts tells one handler's story on one object: the error whole, and when it was
// tried.
func (c *common) drawAttempts(p *canvas.Pane, h *inspect.HandlerState) {
	p.Rule(h.ID, c.world.source(h.ID))
	word := words.Handler(h.State)
	switch {
	case h.Error != nil && h.State != inspect.PhaseDone:
		p.Prose(word.Token, h.Error.Kind+": "+h.Error.Message, 3)
	case isOut(h):
		p.Prose(theme.Text, verdict.Mismatch(h.Why), 3)
	default:
		s := word.Text
		if note := c.note(h); note != "" {
			s += ", " + note
		}
		if try := verdict.Try(h); try != "" {
			s += ", attempt " + try
		}
		p.Prose(theme.Text, s, 3)
	}
	if len(h.Attempts) == 0 {
		return
	}
	// The newest are at the end, and those are what one wants to see.
	l := p.Line().Skip(1).Put(theme.Dim, "attempts")
	shown := h.Attempts
	if room := max(1, (p.W-12)/20); len(shown) > room {
		shown = shown[len(shown)-room:]
	}
	first := max(1, h.Attempt-len(shown)+1)
	if h.State == inspect.PhaseRunning {
		first = max(1, first-1) // the one that runs is not among them
	}
	for i, a := range shown {
		c.attempt(l.Skip(2), first+i, a)
	}
	p.End(l)
}

func (c *common) attempt(l *canvas.Line, n int, a inspect.Attempt) {
	word := words.Handler(inspect.PhaseDone)
	if a.Error != nil {
		word = words.Handler(inspect.PhaseRetrying)
		if a.Error.Kind == "permanent" || a.Error.Kind == "retries" || a.Error.Kind == "timeout" {
			word = words.Handler(inspect.PhaseFailed)
		}
	}
	l.Put(word.Token, word.Glyph+" "+strconv.Itoa(n)).Skip(1)
	l.Put(theme.Dim, words.Back(c.since(a.At))+" "+words.Took(a.Took))
}
