package parts

import (
	"strconv"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// DrawAttempts draws the whole error of a handler on an object, and its attempts on a time axis. In the remaining space, it
// draws one line for each of the latest attempts.
func DrawAttempts(s *Screen, b *render.Block, o *inspect.Object, h *inspect.HandlerState) {
	b.Rule(h.ID, s.State.SourceOf(h.ID))
	word := explain.HandlerWordOf(h)
	prose := max(1, min(3, b.Rest()-timelineHeight))
	if len(h.Attempts) == 0 {
		prose = 3
	}
	switch {
	case h.Error != nil && h.State != inspect.PhaseDone:
		b.Prose(word.Tone, explain.ErrorText(h.Error), prose)
	case explain.IsNotCalled(h):
		b.Prose(explain.Text, explain.Mismatch(h.Why), prose)
	default:
		text := word.Text
		if note := Note(s, o, h); note != "" {
			text += ", " + note
		}
		if try := explain.Try(h); try != "" {
			text += ", attempt " + try
		}
		b.Prose(explain.Text, text, prose)
	}
	if len(h.Attempts) == 0 {
		return
	}
	t := newTimeline(s, o, h)
	if b.Rest() < timelineHeight {
		t.drawTrack(s, b)
		return
	}
	t.draw(s, b)
	if b.Rest() < 2 {
		return
	}
	latest := t.attempts[max(0, len(t.attempts)-b.Rest()+1):]
	b.Blank()
	for i, a := range latest {
		n := len(t.attempts) - len(latest) + i
		drawAttempt(s, b, a, t.first+n)
	}
}

// drawAttempt draws one attempt in a line.
func drawAttempt(s *Screen, b *render.Block, a inspect.Attempt, n int) {
	word := explain.AttemptWord(&a)
	l := b.Line().Skip(1).Put(word.Tone, word.Glyph).Skip(1).CellRight(explain.Text, strconv.Itoa(n), 3).Skip(2)
	l.Cell(explain.Dim, explain.Since(s.Since(a.At)), 8).Skip(2).Cell(explain.Dim, explain.Took(a.Took), 6).Skip(2)
	if a.Error != nil {
		l.Put(word.Tone, explain.ErrorText(a.Error))
	} else {
		l.Put(explain.Dim, word.Text)
	}
	b.End(l)
}
