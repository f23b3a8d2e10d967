package parts

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// The functions of this file format the state of one handler on one object, for tables and lists.

// StateCell returns the state of a handler as a cell.
func StateCell(h *inspect.HandlerState) render.Cell {
	word := explain.HandlerWordOf(h)
	return render.Cell{Tone: word.Tone, Text: word.String()}
}

// TryCell returns the attempt of a handler as a cell.
func TryCell(h *inspect.HandlerState) render.Cell {
	return render.Cell{Tone: explain.Dim, Text: explain.Try(h)}
}

// NextCell returns the time of the next call of a handler as a cell.
func NextCell(s *Screen, o *inspect.Object, h *inspect.HandlerState) render.Cell {
	next := explain.Next(h, s.Now, s.State.HeldOf(o))
	return render.Cell{Tone: next.Tone(), Text: next.Cell()}
}

// BecauseCell returns the reason for the state of a handler as a cell.
func BecauseCell(s *Screen, o *inspect.Object, h *inspect.HandlerState) render.Cell {
	switch {
	case h.Error != nil && h.State != inspect.PhaseDone:
		return render.Cell{Tone: explain.HandlerWordOf(h).Tone, Text: explain.ErrorText(h.Error)}
	case h.State == inspect.PhaseDone || h.State == inspect.PhaseRetrying:
		return render.Cell{} // other columns already contain the reason
	}
	return render.Cell{Tone: explain.Dim, Text: Note(s, o, h)}
}

// Note returns the current note about a handler.
func Note(s *Screen, o *inspect.Object, h *inspect.HandlerState) string {
	return s.State.NoteOf(h, s.Now, s.State.HeldOf(o))
}

// noteTone returns the tone of the note.
func noteTone(s *Screen, o *inspect.Object, h *inspect.HandlerState) explain.Tone {
	if h.State == inspect.PhaseFailed || h.State == inspect.PhaseUnknown {
		return explain.Err
	}
	return explain.Next(h, s.Now, s.State.HeldOf(o)).Tone()
}

// handlerNameWidth returns the width of the column for the names of handlers.
func handlerNameWidth(s *Screen, handlers []*inspect.HandlerState, limit int) int {
	w := 9
	for _, h := range handlers {
		if h.Parent != "" {
			w = max(w, render.Width(explain.SubName(h)))
		} else {
			w = max(w, render.Width(s.State.NameOf(h)))
		}
	}
	return min(w, limit)
}
