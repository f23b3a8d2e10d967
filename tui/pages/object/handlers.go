package object

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// drawHandlers draws a table of the handlers, and beneath it the attempts of the selected
// one.
func (p *Page) drawHandlers(b *render.Block) {
	handlers := explain.CalledFirst(p.last)
	p.rows = len(handlers)
	if p.rows == 0 {
		b.Blank()
		b.Text(explain.Dim, "  no handler is registered for this kind")
		return
	}
	attempts := attemptsHeight(b.Rest(), p.rows)
	top := p.screen.Block(b.W, b.Rest()-attempts)
	table(p.screen, p.last, handlers).Draw(top, &p.handlers)
	b.Add(top.Fill()...)
	if attempts > 0 {
		parts.DrawAttempts(p.screen, b, p.last, handlers[p.handlers.Cursor])
	}
}

// attemptsHeight returns the number of lines for the attempts below a table of n rows, of h lines in total. With enough space,
// the attempts have a whole timeline; in small terminals, only its track.
func attemptsHeight(h, n int) int {
	switch {
	case h >= 24:
		return max(7, min(14, h-n-2))
	case h >= 14:
		return 7
	case h >= 7:
		return 3
	}
	return 0
}

// The columns of the table.
const (
	stateColumn = iota
	handlerColumn
	forColumn
	tryColumn
	nextColumn
	tookColumn
	becauseColumn
)

func table(s *parts.Screen, o *inspect.Object, handlers []*inspect.HandlerState) *render.Table {
	purpose := 8
	for _, h := range handlers {
		purpose = max(purpose, render.Width(explain.Purpose(h)))
	}
	return &render.Table{
		Columns: []render.Column{
			stateColumn:   {Title: "STATE", Width: 13, State: true},
			handlerColumn: {Title: "HANDLER", Width: 10, Fit: s.State.Longest.Handler},
			forColumn:     {Title: "FOR", Width: 8, Fit: purpose, Drop: 3},
			tryColumn:     {Title: "TRY", Width: 4, Drop: 1, Right: true},
			nextColumn:    {Title: "NEXT", Width: 7, Right: true},
			tookColumn:    {Title: "TOOK", Width: 6, Drop: 4, Right: true},
			becauseColumn: {Title: "BECAUSE", Width: 24, Grow: 1, Drop: 2},
		},
		Rows: len(handlers),
		Cell: func(row, column int) render.Cell { return cell(s, o, handlers[row], column) },
	}
}

func cell(s *parts.Screen, o *inspect.Object, h *inspect.HandlerState, column int) render.Cell {
	switch column {
	case stateColumn:
		return parts.StateCell(h)
	case handlerColumn:
		switch {
		case h.Parent != "":
			return render.Cell{Text: explain.SubName(h)}
		case explain.IsNotCalled(h):
			return render.Cell{Tone: explain.Dim, Text: s.State.NameOf(h)}
		}
		return render.Cell{Text: s.State.NameOf(h)}
	case forColumn:
		return render.Cell{Tone: explain.Dim, Text: explain.Purpose(h)}
	case tryColumn:
		return parts.TryCell(h)
	case nextColumn:
		return parts.NextCell(s, o, h)
	case tookColumn:
		return render.Cell{Tone: explain.Dim, Text: explain.Took(h.Took)}
	}
	return parts.BecauseCell(s, o, h)
}
