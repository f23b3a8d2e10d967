// Package resources is the page with the list of live objects and the detail of the
// selected one.
package resources

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of resources.
type Page struct {
	screen *parts.Screen
	w, h   int

	filter       parts.Filter
	problemsOnly bool
	byState      bool
	grouped      bool

	rows     []row
	matched  int    // the number of objects among the rows
	filtered string // the filter that the rows match
	list     render.List
	selected inspect.Ref // the cursor stays on the object, not on the row
	split    parts.Split // as drawn last
}

// row is an object, or the head of a group.
type row struct {
	object *inspect.Object
	head   string
}

// New returns the page.
func New(s *parts.Screen) *Page {
	p := &Page{screen: s, filter: parts.NewFilter()}
	p.Refresh()
	return p
}

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns the filter.
func (p *Page) Filter() *parts.Filter { return &p.filter }

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return p.split.List.H - 1 }

// Refresh collects the rows again.
func (p *Page) Refresh() {
	p.rows = p.rows[:0]
	p.matched = 0
	words := p.filter.Words()
	kind, head := "", -1
	for _, o := range p.ordered() {
		if p.problemsOnly && !model.IsProblem(o) || len(words) > 0 && !matches(o, words) {
			continue
		}
		if p.grouped && kind != o.Resource {
			p.nameGroup(head, kind)
			kind, head = o.Resource, len(p.rows)
			p.rows = append(p.rows, row{})
		}
		p.rows = append(p.rows, row{object: o})
		p.matched++
	}
	p.nameGroup(head, kind)
	p.restoreCursor()
	p.filtered = p.filter.Text()
}

// nameGroup sets the head of a group when its size is known.
func (p *Page) nameGroup(head int, kind string) {
	if head >= 0 {
		p.rows[head].head = fmt.Sprintf("%s  %s", kind, model.Thousands(len(p.rows)-head-1))
	}
}

// matches reports whether the name, kind, state or handler of an object match the filter.
func matches(o *inspect.Object, words []string) bool {
	handler := ""
	if h := model.Active(o); h != nil {
		handler = h.ID
	}
	return parts.Matches(words, model.QualifiedName(o.Ref), o.Resource, o.Short, string(o.State), handler)
}

// ordered returns all objects by name, or the most urgent first.
func (p *Page) ordered() []*inspect.Object {
	all := p.screen.State.Objects
	if !p.byState {
		return all
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *inspect.Object) int {
		if p.grouped && a.Resource != b.Resource {
			return 0 // groups stay together
		}
		return cmp.Compare(model.UrgencyOf(a.State), model.UrgencyOf(b.State))
	})
	return all
}

// Summary draws the counters, and the next retry or what is filtered.
func (p *Page) Summary(l *render.Line, short bool) {
	s := p.screen
	all := len(s.State.Objects)
	if all == 0 {
		summarizeStart(s, l)
		return
	}
	narrowed := p.filter.Visible() || p.problemsOnly
	// The text of the filter must be visible, so the words of the counters are left out.
	if short || narrowed && !s.Wide() {
		parts.DrawShortCounters(s, l)
	} else {
		parts.DrawCounters(s, l)
	}
	switch {
	case short:
		return
	case narrowed:
		p.answerNarrowed(l, all)
		return
	}
	count := model.Count(all, "object")
	next := ""
	if in := s.State.NextRetry(s.Now).Time(); in != "" {
		next = "next retry " + in
	}
	if render.Width(next)+render.Width(count)+4 <= l.Rest() {
		l.Put(model.Dim, next)
	}
	l.Right(model.Dim, count)
}

// answerNarrowed draws what is looked for, and how many objects match.
func (p *Page) answerNarrowed(l *render.Line, all int) {
	of := fmt.Sprintf("%s of %s", model.Thousands(p.matched), model.Thousands(all))
	what := p.screen.Line(l.Rest() - len(of) - 4)
	if p.problemsOnly {
		what.Put(model.Accent, "! needs you").Skip(1)
	}
	if p.filter.Visible() {
		p.filter.Draw(p.screen, what)
	}
	l.To(l.Used() + l.Rest() - what.Used() - len(of) - 3)
	l.Append(what).Skip(2).Put(model.Dim, of)
}

// View draws the page.
func (p *Page) View() string {
	s := p.screen
	if len(s.State.Objects) == 0 {
		return viewStart(s, p.w, p.h)
	}
	table := p.table()
	p.split = parts.NewSplit(s, p.w, p.h, 6, table)
	list := s.Block(p.split.List.W, p.split.List.H)
	if len(p.rows) == 0 {
		list.Blank()
		list.Text(model.Dim, "  nothing matches; esc shows all")
	} else {
		table.Draw(list, &p.list)
	}
	detail := s.Block(p.split.Detail.W, p.split.Detail.H)
	if o := p.Selected(); o != nil && detail.H > 0 {
		if p.split.SideBySide {
			parts.DrawObjectBeside(s, detail, o)
		} else {
			parts.DrawObjectBeneath(s, detail, o)
		}
	}
	return p.split.Join(s, "why", list, detail)
}
