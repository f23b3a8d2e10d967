// Package object is the page of one object, in tabs: its handlers, the reasons why handlers ran or did not, the children of the
// object, its text and events in the cluster, and its log.
package object

import (
	"charm.land/bubbles/v2/viewport"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of an object.
type Page struct {
	screen *parts.Screen
	w, h   int

	ref  inspect.Ref
	last *inspect.Object // last known state of the object
	gone bool
	tab  parts.ObjectTab

	handlers render.List
	rows     int // rows of the table of handlers
	why      viewport.Model
	columns  ownColumns
	children *childrenPane
	yaml     *yamlPane
	events   *eventPane
	log      *parts.LogPane
}

// New returns the page of an object, which must be in the state.
func New(s *parts.Screen, ref inspect.Ref, tab parts.ObjectTab) *Page {
	p := &Page{screen: s, ref: ref, tab: tab, why: viewport.New(), log: parts.NewLogPane(s, &ref)}
	p.children, p.yaml, p.events = &childrenPane{screen: s}, newYAMLPane(s, ref), newEventPane(s, ref)
	p.Refresh()
	return p
}

// Ref identifies the object.
func (p *Page) Ref() inspect.Ref { return p.ref }

// ShowsLog reports whether the log of the object is shown.
func (p *Page) ShowsLog() bool { return p.tab == parts.LogTab }

// Tab returns the tab that is shown.
func (p *Page) Tab() parts.ObjectTab { return p.tab }

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// LooksAt returns the view of the object or of a child in the cluster that the tab shows, such as the YAML; empty if the tab shows no
// such view.
func (p *Page) LooksAt() (inspect.Ref, runner.Facet) {
	yaml := p.shownYAML()
	switch {
	case p.screen.State.NotLooking() != "":
		return inspect.Ref{}, ""
	case yaml != nil:
		return yaml.ref, runner.FacetObject
	case p.tab == parts.EventsTab:
		return p.ref, runner.FacetEvents
	}
	return inspect.Ref{}, ""
}

// shownYAML returns the YAML of the object or of a child, or nil if the tab shows none.
func (p *Page) shownYAML() *yamlPane {
	switch p.tab {
	case parts.YAMLTab:
		return p.yaml
	case parts.ChildrenTab:
		return p.children.opened
	}
	return nil
}

// Inquire asks the operator for the children of the object while a tab shows them. It asks the cluster for the columns of the object,
// or for the columns of the children and the objects below them.
func (p *Page) Inquire() parts.Inquiry {
	if p.tab != parts.ChildrenTab && p.tab != parts.WhyTab || p.gone {
		return nil
	}
	keeps := explain.KeepsChildren(p.last)
	if keeps {
		if inquiry := p.children.inquire(p.last); inquiry != nil {
			return inquiry
		}
	}
	switch {
	case p.tab == parts.WhyTab:
		return p.readOwnColumns()
	case !keeps:
		return nil
	}
	if inquiry := p.children.readBelow(); inquiry != nil {
		return inquiry
	}
	return p.children.readColumns(p.last)
}

// tabs returns the tabs of the object. Objects without a reconcile handler have no children, so they have the tab of children only
// while it is open.
func (p *Page) tabs() []parts.ObjectTab {
	all := make([]parts.ObjectTab, 0, parts.ObjectTabs)
	for t := range parts.ObjectTabs {
		if t != parts.ChildrenTab || t == p.tab || explain.KeepsChildren(p.last) {
			all = append(all, t)
		}
	}
	return all
}

// Filter returns the filter of the tab; nil if it has none. In YAML, the filter only searches.
func (p *Page) Filter() *parts.Filter {
	if yaml := p.shownYAML(); yaml != nil {
		return &yaml.search
	}
	switch p.tab {
	case parts.EventsTab:
		return &p.events.filter
	case parts.LogTab:
		return &p.log.Filter
	}
	return nil
}

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return p.h - 1 }

// Refresh takes over the object from the state.
func (p *Page) Refresh() {
	if o := p.screen.State.Find(p.ref); o != nil {
		before := p.last
		p.last, p.gone = o, false
		p.keepHandler(before)
	} else {
		p.gone = true
	}
	p.log.Refresh()
	p.yaml.refresh()
	if p.children.opened != nil {
		p.children.opened.refresh()
	}
	p.events.refresh()
}

// Move moves the cursor or scrolls by d rows.
func (p *Page) Move(d int) {
	switch p.tab {
	case parts.HandlersTab:
		p.handlers.Move(d, p.rows)
	case parts.WhyTab:
		p.why.SetYOffset(p.why.YOffset() + d)
	case parts.ChildrenTab:
		p.children.move(d)
	case parts.YAMLTab:
		p.yaml.move(d)
	case parts.EventsTab:
		p.events.move(d)
	case parts.LogTab:
		p.log.Move(d)
	}
}

// Click selects the row at a place. A second click folds YAML, or opens a child.
func (p *Page) Click(_, y int) (again bool) {
	switch p.tab {
	case parts.HandlersTab:
		if i := p.handlers.Offset + y - 1; y > 0 && i < p.rows {
			p.handlers.Cursor = i
		}
	case parts.ChildrenTab:
		return p.children.click(y)
	case parts.EventsTab:
		p.events.click(y)
	case parts.YAMLTab:
		return p.yaml.click(y)
	}
	return false
}

// summaryRow is the line of the screen with the tabs.
const summaryRow = 3

// Summary draws the name, the state, the next step, and the tabs.
func (p *Page) Summary(l *render.Line, short bool) {
	if short {
		return
	}
	s, o := p.screen, p.last
	word := explain.WordOf(o)
	state := word.String()
	if p.gone {
		word = explain.GoneWord(s.State.State, p.ref)
		state = word.String()
	}
	tabsWidth := 1
	for _, t := range p.tabs() {
		tabsWidth += len(t.String()) + 2
	}
	f := p.Filter()
	typed := 0 // minimum space for the filter
	if f != nil && f.Visible() {
		typed = 18
	}
	if l.Rest()-tabsWidth-render.Width(state)-typed < 12 {
		state = "" // the name takes precedence
	}
	name := render.CutMiddle(render.Clean(explain.QualifiedName(o.Ref)), l.Rest()-tabsWidth-render.Width(state)-typed-3)
	if l.Put(explain.Title, name).Skip(2); state != "" {
		l.Put(word.Tone, state).Skip(2)
	}
	if typed == 0 {
		p.summarizeNext(l)
	} else if space := l.Rest() - tabsWidth; space > 0 {
		filter := s.Line(space)
		f.Draw(s, filter)
		l.Append(filter)
	}
	l.To(l.Used() + l.Rest() - tabsWidth)
	for _, t := range p.tabs() {
		tone := explain.Dim
		if t == p.tab {
			tone = explain.Accent
		}
		from := l.Used()
		l.Put(tone, t.String())
		s.Clicks.Add(summaryRow, from+1, l.Used()+1, t.Key())
		l.Skip(2)
	}
}

// summarizeNext draws the next retry: the handler and the time.
func (p *Page) summarizeNext(l *render.Line) {
	s := p.screen
	h := explain.Active(p.last)
	if h == nil || s.Width < 100 || p.gone {
		return
	}
	if next := explain.Next(h, s.Now, s.State.HeldOf(p.last)); next.Kind == explain.NextRetry {
		l.Put(explain.Text, s.State.NameOf(h)).Put(explain.Dim, " "+explain.Try(h)+" ").Put(explain.Warn, next.Time())
	}
}

// View draws the page.
func (p *Page) View() string {
	b := p.screen.Block(p.w, p.h)
	if p.gone {
		sentence := "This object was deleted; this is its last known state. esc goes back."
		if explain.GoneWord(p.screen.State.State, p.ref).Tone == explain.OK {
			sentence = "This object was deleted; this is its last known state. esc goes back."
		}
		b.End(b.Line().Skip(1).Put(explain.Text, sentence))
	}
	switch p.tab {
	case parts.HandlersTab:
		p.drawHandlers(b)
	case parts.WhyTab:
		p.drawWhy(b)
	case parts.ChildrenTab:
		p.children.draw(b, p.last, p.gone)
	case parts.YAMLTab:
		p.yaml.draw(b)
	case parts.EventsTab:
		p.events.draw(b)
	case parts.LogTab:
		p.log.Draw(b, "nothing has been logged about this object since the start")
	}
	return b.String()
}
