package webhooks

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// The columns of the table.
const (
	decisionColumn = iota
	operationColumn
	kindColumn
	objectColumn
	userColumn
	tookColumn
	agoColumn
)

// drawReviews draws the reviews, and the selected one in full.
func (p *Page) drawReviews(b *render.Block) {
	if len(p.rows) == 0 {
		p.split = parts.Split{}
		b.Rule("reviews", "")
		b.Blank()
		if p.filter.Text() != "" {
			b.Text(explain.Dim, "  nothing matches; esc shows all")
			return
		}
		b.Prose(explain.Dim, " None yet. Apply an object that a handler is for, or try one: kubectl apply --dry-run=server.", 3)
		return
	}
	table := p.table()
	if b.Rest() > 12 {
		b.Rule("reviews", "")
		p.top++
	}
	p.split = parts.NewSplit(p.screen, p.w, b.Rest(), 7, table)
	list := p.screen.Block(p.split.List.W, p.split.List.H)
	table.Draw(list, &p.list)
	detail := p.screen.Block(p.split.Detail.W, p.split.Detail.H)
	if detail.H > 0 {
		p.drawReview(detail, p.current())
	}
	b.Add(strings.Split(p.split.Join(p.screen, p.screen.State.ReviewTitle(p.current()), list, detail), "\n")...)
}

func (p *Page) table() *render.Table {
	operation, object, user := 0, 0, 0
	for _, r := range p.rows {
		operation = max(operation, render.Width(explain.ReviewOperation(r)))
		object, user = max(object, render.Width(explain.ReviewObject(r))), max(user, render.Width(r.User.Name))
	}
	return &render.Table{
		Columns: []render.Column{
			decisionColumn:  {Title: "DECISION", Width: 9, State: true},
			operationColumn: {Title: "WHAT", Width: 7, Grow: 1, Max: operation},
			kindColumn:      {Title: "KIND", Width: 5, Drop: 3},
			objectColumn:    {Title: "OBJECT", Width: 21, Grow: 3, Max: object, Cut: render.CutMiddle},
			userColumn:      {Title: "WHO", Width: 8, Grow: 1, Max: user, Cut: render.CutMiddle, Drop: 2},
			tookColumn:      {Title: "TOOK", Width: 5, Right: true, Drop: 1},
			agoColumn:       {Title: "AGO", Width: 4, Right: true},
		},
		Rows: len(p.rows),
		Cell: func(row, column int) render.Cell { return p.cell(p.rows[row], column) },
	}
}

func (p *Page) cell(r *inspect.Review, column int) render.Cell {
	switch column {
	case decisionColumn:
		word := explain.ReviewWord(r)
		return render.Cell{Tone: word.Tone, Text: word.String()}
	case operationColumn:
		return render.Cell{Tone: explain.Text, Text: explain.ReviewOperation(r)}
	case kindColumn:
		return render.Cell{Tone: explain.Dim, Text: p.screen.State.ReviewKind(r)}
	case objectColumn:
		return render.Cell{Tone: explain.Text, Text: explain.ReviewObject(r)}
	case userColumn:
		return render.Cell{Tone: explain.Dim, Text: r.User.Name}
	case tookColumn:
		return render.Cell{Tone: explain.Dim, Text: explain.Took(r.Took)}
	}
	return render.Cell{Tone: explain.Dim, Text: explain.Ago(p.screen.Since(r.At))}
}

// drawReview draws a review in full, with the message or the patch first.
func (p *Page) drawReview(b *render.Block, r *inspect.Review) {
	if p.split.SideBySide {
		b.End(b.Line().Skip(1).Put(explain.Title, p.screen.State.ReviewTitle(r)))
		b.Blank()
	}
	word := explain.ReviewWord(r)
	l := b.Line().Skip(1).Put(word.Tone, word.String())
	if r.Code != 0 {
		l.Also(explain.Dim, "code "+explain.Thousands(r.Code))
	}
	l.Also(explain.Dim, "in "+explain.Took(r.Took))
	if r.Replay != "" {
		l.Also(explain.Dim, "a replay")
	}
	b.End(l.Also(explain.Dim, "by "+r.User.Name))
	if r.Message != "" {
		b.Prose(explain.ReviewWord(r).Tone, r.Message, 4)
	}
	for _, warning := range r.Warnings {
		b.Prose(explain.Warn, warning, 2)
	}
	for _, d := range r.Patch {
		b.End(parts.PutDifference(b.Line().Skip(1), d))
	}
	for i := range r.Handlers {
		p.drawHandler(b, &r.Handlers[i])
	}
	if len(r.User.Groups) > 0 {
		b.End(b.Line().Skip(1).Put(explain.Dim, "groups  "+strings.Join(r.User.Groups, ", ")))
	}
}

func (p *Page) drawHandler(b *render.Block, h *inspect.ReviewedHandler) {
	word := explain.ReviewedWord(h)
	l := b.Line().Skip(1).Put(word.Tone, word.Glyph).Skip(1).Put(explain.Text, p.screen.State.ShortName(h.ID)).Also(explain.Dim, string(h.Kind)).Also(explain.Dim, explain.Took(h.Took))
	if h.Error != nil {
		l.Also(explain.Dim, reviewError(h.Error))
	}
	b.End(l)
}

// reviewError describes the kind of error that an admission handler returned.
func reviewError(e *inspect.HandlerError) string {
	if e.Kind == inspect.ErrorAdmission {
		return "denied"
	}
	return string(e.Kind)
}
