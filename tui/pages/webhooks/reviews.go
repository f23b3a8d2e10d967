package webhooks

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/model"
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
			b.Text(model.Dim, "  nothing matches; esc shows all")
			return
		}
		b.Prose(model.Dim, " None yet. Apply an object that a handler is for, or try one: kubectl apply --dry-run=server.", 3)
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
		operation = max(operation, render.Width(model.ReviewOperation(r)))
		object, user = max(object, render.Width(model.ReviewObject(r))), max(user, render.Width(r.User.Name))
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
		word := model.ReviewWord(r)
		return render.Cell{Tone: word.Tone, Text: word.String()}
	case operationColumn:
		return render.Cell{Tone: model.Text, Text: model.ReviewOperation(r)}
	case kindColumn:
		return render.Cell{Tone: model.Dim, Text: p.screen.State.ReviewKind(r)}
	case objectColumn:
		return render.Cell{Tone: model.Text, Text: model.ReviewObject(r)}
	case userColumn:
		return render.Cell{Tone: model.Dim, Text: r.User.Name}
	case tookColumn:
		return render.Cell{Tone: model.Dim, Text: model.Took(r.Took)}
	}
	return render.Cell{Tone: model.Dim, Text: model.Ago(p.screen.Since(r.At))}
}

// drawReview draws a review in full: the message or the patch first.
func (p *Page) drawReview(b *render.Block, r *inspect.Review) {
	if p.split.SideBySide {
		b.End(b.Line().Skip(1).Put(model.Title, p.screen.State.ReviewTitle(r)))
		b.Blank()
	}
	word := model.ReviewWord(r)
	l := b.Line().Skip(1).Put(word.Tone, word.String())
	if r.Code != 0 {
		l.Also(model.Dim, "code "+model.Thousands(r.Code))
	}
	l.Also(model.Dim, "in "+model.Took(r.Took))
	if r.Replay != "" {
		l.Also(model.Dim, "a replay")
	}
	b.End(l.Also(model.Dim, "by "+r.User.Name))
	if r.Message != "" {
		b.Prose(model.ReviewWord(r).Tone, r.Message, 4)
	}
	for _, warning := range r.Warnings {
		b.Prose(model.Warn, warning, 2)
	}
	for _, d := range r.Patch {
		b.End(parts.PutDifference(b.Line().Skip(1), d))
	}
	for i := range r.Handlers {
		p.drawHandler(b, &r.Handlers[i])
	}
	if len(r.User.Groups) > 0 {
		b.End(b.Line().Skip(1).Put(model.Dim, "groups  "+strings.Join(r.User.Groups, ", ")))
	}
}

func (p *Page) drawHandler(b *render.Block, h *inspect.ReviewedHandler) {
	word := model.ReviewedWord(h)
	l := b.Line().Skip(1).Put(word.Tone, word.Glyph).Skip(1).Put(model.Text, p.screen.State.ShortName(h.ID)).Also(model.Dim, string(h.Kind)).Also(model.Dim, model.Took(h.Took))
	if h.Error != nil {
		l.Also(model.Dim, reviewError(h.Error))
	}
	b.End(l)
}

// reviewError says what kind of error an admission handler returned.
func reviewError(e *inspect.HandlerError) string {
	if e.Kind == inspect.ErrorAdmission {
		return "denied"
	}
	return string(e.Kind)
}
