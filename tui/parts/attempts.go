package parts

import (
	"strconv"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/render"
)

// DrawAttempts draws the whole error of a handler on an object, and its latest attempts.
func DrawAttempts(s *Screen, b *render.Block, h *inspect.HandlerState) {
	b.Rule(h.ID, s.State.SourceOf(h.ID))
	word := model.HandlerWord(h.State)
	switch {
	case h.Error != nil && h.State != inspect.PhaseDone:
		b.Prose(word.Tone, model.ErrorText(h.Error), 3)
	case model.IsNotCalled(h):
		b.Prose(model.Text, model.Mismatch(h.Why), 3)
	default:
		text := word.Text
		if note := Note(s, h); note != "" {
			text += ", " + note
		}
		if try := model.Try(h); try != "" {
			text += ", attempt " + try
		}
		b.Prose(model.Text, text, 3)
	}
	if len(h.Attempts) == 0 {
		return
	}
	l := b.Line().Skip(1).Put(model.Dim, "attempts")
	latest := h.Attempts
	if space := max(1, (b.W-12)/20); len(latest) > space {
		latest = latest[len(latest)-space:]
	}
	first := max(1, h.Attempt-len(latest)+1)
	if h.State == inspect.PhaseRunning {
		first = max(1, first-1) // the running one is not among them
	}
	for i, a := range latest {
		putAttempt(s, l.Skip(2), first+i, a)
	}
	b.End(l)
}

func putAttempt(s *Screen, l *render.Line, n int, a inspect.Attempt) {
	word := model.HandlerWord(inspect.PhaseDone)
	if a.Error != nil {
		word = model.HandlerWord(inspect.PhaseRetrying)
		if a.Error.Kind == inspect.ErrorPermanent || a.Error.Kind == inspect.ErrorRetries || a.Error.Kind == inspect.ErrorTimeout {
			word = model.HandlerWord(inspect.PhaseFailed)
		}
	}
	l.Put(word.Tone, word.Glyph+" "+strconv.Itoa(n)).Skip(1)
	l.Put(model.Dim, model.Since(s.Since(a.At))+" "+model.Took(a.Took))
}
