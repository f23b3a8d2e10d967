package object

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// handlerRow is a row of the table of handlers.
type handlerRow struct {
	*inspect.HandlerState
	step *inspect.Step // step of the handler; nil in the row of the handler itself
}

// handlerRows returns the handlers of an object, with their steps beneath them.
func handlerRows(o *inspect.Object) []handlerRow {
	var rows []handlerRow
	for _, h := range explain.CalledFirst(o) {
		rows = append(rows, handlerRow{HandlerState: h})
		for i := range h.Steps {
			rows = append(rows, handlerRow{h, &h.Steps[i]})
		}
	}
	return rows
}

func (r handlerRow) is(other handlerRow) bool {
	return r.ID == other.ID && r.Kind == other.Kind && (r.step == nil) == (other.step == nil) && (r.step == nil || r.step.Name == other.step.Name)
}

// keepHandler keeps the cursor on its handler or step when the rows change. If the step no longer exists, it selects the handler
// of the step.
func (p *Page) keepHandler(before *inspect.Object) {
	if before == nil || before == p.last {
		return
	}
	rows := handlerRows(before)
	if p.handlers.Cursor >= len(rows) {
		return
	}
	selected := rows[p.handlers.Cursor]
	for i, row := range handlerRows(p.last) {
		if row.is(handlerRow{HandlerState: selected.HandlerState}) || row.is(selected) {
			p.handlers.Cursor = i
		}
		if row.is(selected) {
			return
		}
	}
}

// drawHandlers draws a table of the handlers and their steps, and beneath it the attempts of the selected
// one.
func (p *Page) drawHandlers(b *render.Block) {
	rows := handlerRows(p.last)
	p.rows = len(rows)
	if p.rows == 0 {
		b.Blank()
		b.Text(explain.Dim, "  no handler is registered for this kind")
		return
	}
	attempts := attemptsHeight(b.Rest(), p.rows)
	top := p.screen.Block(b.W, b.Rest()-attempts)
	table(p.screen, p.last, rows).Draw(top, &p.handlers)
	b.Add(top.Fill()...)
	if attempts == 0 {
		return
	}
	if row := rows[p.handlers.Cursor]; row.step != nil {
		b.Rule(row.ID, p.screen.State.SourceOf(row.ID))
		b.Prose(explain.Text, "step "+explain.StepText(row.step, p.screen.Now), b.Rest())
		return
	}
	parts.DrawAttempts(p.screen, b, p.last, rows[p.handlers.Cursor].HandlerState)
}

// attemptsHeight returns the number of lines for the attempts below a table of n rows, out of h lines in total. With enough
// space, the attempts have a whole timeline; in small terminals, only its track.
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

func table(s *parts.Screen, o *inspect.Object, rows []handlerRow) *render.Table {
	purpose, name := 8, s.State.Longest.Handler
	for _, row := range rows {
		purpose = max(purpose, render.Width(explain.Purpose(row.HandlerState)))
		if row.step != nil {
			name = max(name, render.Width(stepName(row)))
		}
	}
	return &render.Table{
		Columns: []render.Column{
			stateColumn:   {Title: "STATE", Width: 13, State: true},
			handlerColumn: {Title: "HANDLER", Width: 10, Fit: name},
			forColumn:     {Title: "FOR", Width: 8, Fit: purpose, Drop: 3},
			tryColumn:     {Title: "TRY", Width: 4, Drop: 1, Right: true},
			nextColumn:    {Title: "NEXT", Width: 7, Right: true},
			tookColumn:    {Title: "TOOK", Width: 6, Drop: 4, Right: true},
			becauseColumn: {Title: "BECAUSE", Width: 24, Grow: 1, Drop: 2},
		},
		Rows: len(rows),
		Cell: func(row, column int) render.Cell {
			if rows[row].step != nil {
				return stepCell(s, rows[row], column)
			}
			return cell(s, o, rows[row].HandlerState, column)
		},
	}
}

// stepName returns the name of a step, to be shown beneath its handler.
func stepName(row handlerRow) string {
	if row.Parent != "" {
		return "  └ " + row.step.Name
	}
	return "└ " + row.step.Name
}

func stepCell(s *parts.Screen, row handlerRow, column int) render.Cell {
	switch column {
	case stateColumn:
		word := explain.StepWord(row.step.State)
		return render.Cell{Tone: word.Tone, Text: word.String()}
	case handlerColumn:
		return render.Cell{Text: stepName(row)}
	case forColumn:
		return render.Cell{Tone: explain.Dim, Text: "step"}
	case becauseColumn:
		return render.Cell{Tone: explain.Dim, Text: explain.StepNote(row.step, s.Now)}
	}
	return render.Cell{}
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
