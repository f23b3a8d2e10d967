// Package resources is the page with the list of live objects and the detail of the
// selected one.
package resources

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of resources.
type Page struct {
	screen *parts.Screen
	w, h   int

	filter       parts.Filter
	problemsOnly bool
	layout       Layout

	matches  explain.Derived[bool] // the filter, by object
	searched string                // filter of the cached search results
	rows     []row
	matched  int    // number of objects among the rows
	depth    int    // depth of the deepest row in the tree of owners
	filtered string // the filter that the rows match
	list     render.List
	selected inspect.Ref // selected object, which the cursor follows when the rows change
	split    parts.Split // layout of the last drawing
}

// Layout has the user's choices about the list.
type Layout struct {
	Order    Order `json:"order,omitempty"`
	Reversed bool  `json:"reversed,omitempty"`
	Group    Group `json:"group,omitempty"`
}

// Layout returns the user's choices.
func (p *Page) Layout() Layout { return p.layout }

// SetLayout restores the user's choices. Unknown orders and groups are replaced by the defaults.
func (p *Page) SetLayout(l Layout) {
	if _, known := orderNames[l.Order]; !known {
		l.Order = ByName
	}
	if _, known := groupNames[l.Group]; !known {
		l.Group = NotGrouped
	}
	p.layout = l
	p.Refresh()
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
	objects := sorted(p.matching(), p.layout.Order, p.layout.Reversed, p.layout.Group == ByKind)
	p.matched, p.depth = len(objects), 0
	switch p.layout.Group {
	case ByKind:
		p.rows = rowsByKind(p.rows[:0], objects)
	case ByOwner:
		p.rows = rowsByOwner(p.rows[:0], objects)
		for i := range p.rows {
			p.depth = max(p.depth, p.rows[i].depth)
		}
	default:
		p.rows = p.rows[:0]
		for _, o := range objects {
			p.rows = append(p.rows, row{object: o})
		}
	}
	p.restoreCursor()
	p.filtered = p.filter.Text()
}

// matching returns the objects that match the filter and the choice of problems only, sorted by
// name.
func (p *Page) matching() []*inspect.Object {
	all := p.screen.State.Objects
	query := p.filter.Query("state", "kind", "namespace", "name", "children", "handler", "owner")
	if !p.problemsOnly && len(query) == 0 {
		return all
	}
	wanted := fmt.Sprint(p.problemsOnly, p.filter.Text())
	if wanted != p.searched {
		p.matches.Reset()
		p.searched = wanted
	}
	p.matches.Update(p.screen.State, func(o *inspect.Object) bool {
		return !(p.problemsOnly && !explain.IsProblem(o)) && (len(query) == 0 || matches(o, query))
	})
	var found []*inspect.Object
	for i, o := range all {
		if p.matches.Values[i] {
			found = append(found, o)
		}
	}
	return found
}

// matches reports whether an object matches the filter by one of its columns, its full name or its
// resource.
func matches(o *inspect.Object, query parts.Query) bool {
	handler, owner := "", ""
	if h := explain.Active(o); h != nil {
		handler = strings.ToLower(h.ID)
	}
	for i := range o.Owners {
		owner += strings.ToLower(o.Owners[i].Kind) + "/" + o.Owners[i].Name + " "
	}
	_, children := explain.ChildCounts(o)
	return query.Matches(explain.WordOf(o).Text, strings.ToLower(o.Short+" "+o.Kind), o.Namespace, o.Name, children, handler, owner, explain.QualifiedName(o.Ref), o.Resource)
}

// Summary draws the counters, and the next retry or the filter.
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
	count := explain.Count(all, "object")
	next := ""
	if retry := s.State.NextRetry(s.Now); retry.Time() != "" {
		if next = "next retry " + retry.Time(); retry.Waits {
			next = retry.Clause()
		}
	}
	if render.Width(next)+render.Width(count)+4 <= l.Rest() {
		l.Put(explain.Dim, next)
	}
	l.Right(explain.Dim, count)
}

// answerNarrowed draws the filter, and the number of matching objects.
func (p *Page) answerNarrowed(l *render.Line, all int) {
	of := fmt.Sprintf("%s of %s", explain.Thousands(p.matched), explain.Thousands(all))
	what := p.screen.Line(l.Rest() - len(of) - 4)
	if p.problemsOnly {
		what.Put(explain.Accent, "! needs you").Skip(1)
	}
	if p.filter.Visible() {
		p.filter.Draw(p.screen, what)
	}
	l.To(l.Used() + l.Rest() - what.Used() - len(of) - 3)
	l.Append(what).Skip(2).Put(explain.Dim, of)
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
		list.Text(explain.Dim, "  nothing matches; esc shows all")
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
