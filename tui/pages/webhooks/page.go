// Package webhooks is the page with the webhooks of the admission handlers, the tunnel by which the cluster calls
// them, and the reviews that they have answered.
package webhooks

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of webhooks.
type Page struct {
	screen *parts.Screen
	w, h   int
	filter parts.Filter

	rows     []*inspect.Review // reviews that match the filter, the newest first
	list     render.List
	selected string // the id of the selected review
	split    parts.Split
	top      int // number of lines above the reviews
}

// New returns the page.
func New(s *parts.Screen) *Page {
	p := &Page{screen: s, filter: parts.NewFilter()}
	p.Refresh()
	return p
}

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns the filter of the reviews.
func (p *Page) Filter() *parts.Filter { return &p.filter }

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return max(1, p.split.List.H-1) }

// Refresh collects the reviews again. The selected review stays selected. If the user has not selected one, the newest review
// is selected.
func (p *Page) Refresh() {
	p.rows = p.rows[:0]
	words := p.filter.Words()
	if s := p.screen.State.Snapshot; s != nil {
		for i := len(s.Reviews) - 1; i >= 0; i-- {
			r := &s.Reviews[i]
			if parts.Matches(words, searchable(r)...) {
				p.rows = append(p.rows, r)
			}
		}
	}
	p.list.Cursor = 0
	for i, r := range p.rows {
		if r.ID == p.selected {
			p.list.Cursor = i
		}
	}
	p.list.Move(0, len(p.rows))
}

// searchable returns the strings of a review that the filter searches.
func searchable(r *inspect.Review) []string {
	texts := []string{
		strings.ToLower(r.Object.Name), r.Object.Namespace, strings.ToLower(r.Kind), strings.ToLower(r.Operation), r.Subresource,
		strings.ToLower(r.User.Name), strings.ToLower(r.Message), explain.ReviewWord(r).Text,
	}
	for i := range r.Handlers {
		texts = append(texts, strings.ToLower(r.Handlers[i].ID))
	}
	return texts
}

// current returns the review at the cursor, or nil.
func (p *Page) current() *inspect.Review {
	if p.list.Cursor < len(p.rows) {
		return p.rows[p.list.Cursor]
	}
	return nil
}

// Move moves the cursor by d rows. While the newest review is selected, each new review becomes the selected one.
func (p *Page) Move(d int) {
	p.list.Move(d, len(p.rows))
	p.choose()
}

func (p *Page) choose() {
	p.selected = ""
	if r := p.current(); r != nil && p.list.Cursor > 0 {
		p.selected = r.ID
	}
}

// Click selects the row at a place. It reports whether the row was already selected.
func (p *Page) Click(x, y int) (again bool) {
	y -= p.top
	i := p.list.Offset + y - 1
	if !p.split.List.Contains(x, y) || y < 1 || i >= len(p.rows) {
		return false
	}
	again = i == p.list.Cursor
	p.list.Cursor = i
	p.choose()
	return again
}

// Back clears the filter. It reports whether there was one.
func (p *Page) Back() bool {
	if p.filter.Text() == "" {
		return false
	}
	p.filter.Clear()
	p.Refresh()
	return true
}

// Summary draws whether the webhooks can be called, and the decisions so far.
func (p *Page) Summary(l *render.Line, short bool) {
	s := p.screen.State
	phase := s.Webhooks.Phase
	if s.WayInLost() != "" {
		phase = runner.WebhooksLost
	}
	switch phase {
	case runner.WebhooksFailed, runner.WebhooksOpening, runner.WebhooksLost:
		word := explain.WayInWord(phase)
		l.Put(word.Tone, word.String())
	default:
		p.summarize(l)
	}
	denied := 0
	if s.Snapshot != nil {
		for i := range s.Snapshot.Reviews {
			if !s.Snapshot.Reviews[i].Allowed {
				denied++
			}
		}
		l.Also(explain.Dim, explain.Count(len(s.Snapshot.Reviews), "review"))
	}
	if denied > 0 {
		l.Also(explain.Err, "✗ "+explain.Thousands(denied)+" denied")
	}
	if !short && p.filter.Visible() {
		p.filter.Draw(p.screen, l.Skip(3))
	}
}

// summarize draws how many webhooks are in which state.
func (p *Page) summarize(l *render.Line) {
	list := p.screen.State.WebhooksByUrgency()
	if len(list) == 0 {
		l.Put(explain.Dim, "no admission handlers")
		return
	}
	worst := list[0].State
	n := 0
	for _, w := range list {
		if w.State == worst {
			n++
		}
	}
	word := explain.WebhookWord(worst)
	text := explain.Count(len(list), "webhook") + " " + word.Text
	if n < len(list) {
		text = explain.Thousands(n) + " of " + explain.Count(len(list), "webhook") + " " + word.Text
	}
	l.Put(word.Tone, word.Glyph+" "+text)
}

// View draws the page.
func (p *Page) View() string {
	b := p.screen.Block(p.w, p.h)
	if !p.screen.State.HasWebhooks() {
		p.split, p.top = parts.Split{}, 0
		b.Blank()
		b.Prose(explain.Dim, " There are no admission handlers. Call kopf.OnValidate or kopf.OnMutate in Register: the cluster then asks them before it stores an object, and each question is shown here.", 4)
		return b.String()
	}
	p.drawWebhooks(b)
	p.top = b.Len()
	p.drawReviews(b)
	return b.String()
}
