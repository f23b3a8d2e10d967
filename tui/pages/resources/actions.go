package resources

import (
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct {
	open, handlers, why, children, yaml, events, log, nextProblem, problemsOnly, order, reverse, group, filter key.Binding
}{
	open:         parts.Key("enter", "open"),
	handlers:     parts.Key("h", ""),
	why:          parts.Key("w", "why"),
	children:     parts.Key("o", ""),
	yaml:         parts.Key("y", ""),
	events:       parts.Key("v", ""),
	log:          parts.Key("l", "log"),
	nextProblem:  parts.Key("n", "next problem"),
	problemsOnly: parts.Key("!", ""),
	order:        parts.Key("s", ""),
	reverse:      parts.Key("S", ""),
	group:        parts.Key("u", ""),
	filter:       parts.Key("/", "filter"),
}

// Actions returns the actions of the page. While there are no objects, one can be created.
func (p *Page) Actions() []parts.Action {
	if len(p.screen.State.Objects) == 0 {
		return []parts.Action{parts.Create(p.screen, nil, false)}
	}
	o := p.Selected()
	noObject := ""
	if o == nil {
		noObject = parts.NoObject
	}
	actions := []parts.Action{
		{Binding: keys.open, Name: "open the object", Column: parts.Go, Unavailable: noObject, Do: p.open(parts.HandlersTab)},
		{Binding: keys.handlers, Name: "handlers of the object", Column: parts.Look, Unavailable: noObject, Do: p.open(parts.HandlersTab)},
		{Binding: keys.why, Name: "why handlers ran or did not", Column: parts.Look, Unavailable: noObject, Do: p.open(parts.WhyTab)},
		{Binding: keys.children, Name: "children of the object", Column: parts.Look, Unavailable: noObject, Do: p.open(parts.ChildrenTab)},
		{Binding: keys.yaml, Name: "YAML of the object", Column: parts.Look, Unavailable: noObject, Do: p.open(parts.YAMLTab)},
		{Binding: keys.events, Name: "Kubernetes events", Column: parts.Look, Unavailable: noObject, Do: p.open(parts.EventsTab)},
		{Binding: keys.log, Name: "log of the object", Column: parts.Look, Unavailable: noObject, Do: p.open(parts.LogTab)},
		parts.Retry(p.screen, o, false),
		parts.PauseObject(p.screen, o, false),
		parts.CopyName(o),
		{Binding: keys.nextProblem, Name: "next object that needs you", Column: parts.Go, Unavailable: p.noProblem(), Do: p.nextProblem},
		{Binding: keys.problemsOnly, Name: "problems only, or all", Column: parts.Look, Do: p.toggleProblems},
		{Binding: keys.order, Name: "order by the next column", Column: parts.Look, Do: p.nextOrder},
		{Binding: keys.reverse, Name: "reverse the order", Column: parts.Look, Do: p.reverse},
		{Binding: keys.group, Name: "group by kind, by owner, or not", Column: parts.Look, Unavailable: p.noGroups(), Do: p.nextGroup},
		{Binding: keys.filter, Name: "filter", Column: parts.Go, Do: p.typeFilter},
	}
	return append(actions, parts.ObjectChanges(p.screen, o, false)...)
}

func (p *Page) noProblem() string {
	if p.screen.State.Counts[explain.NeedsYou] == 0 {
		return "nothing needs you"
	}
	return ""
}

func (p *Page) noGroups() string {
	if len(p.groups()) < 2 && p.layout.Group == NotGrouped {
		return "all objects are of one kind, and none has an owner"
	}
	return ""
}

// groups returns the groupings that the key switches between, without groupings that would look the same.
func (p *Page) groups() []Group {
	all := []Group{NotGrouped}
	if p.screen.State.Kinds > 1 {
		all = append(all, ByKind)
	}
	if p.screen.State.Owned > 0 {
		all = append(all, ByOwner)
	}
	return all
}

func (p *Page) open(tab parts.ObjectTab) func() tea.Msg {
	return func() tea.Msg { return parts.OpenObject{Ref: p.Selected().Ref, Tab: tab} }
}

func (p *Page) nextProblem() tea.Msg {
	for i := range p.rows {
		next := (p.list.Cursor + 1 + i) % len(p.rows)
		if o := p.rows[next].object; o != nil && explain.IsProblem(o) {
			p.list.Cursor, p.selected = next, o.Ref
			break
		}
	}
	return nil
}

func (p *Page) toggleProblems() tea.Msg {
	p.problemsOnly = !p.problemsOnly
	p.Refresh()
	return nil
}

func (p *Page) nextOrder() tea.Msg {
	i := slices.Index(orders, p.layout.Order) + 1
	if orders[i%len(orders)] == ByChildren && p.screen.State.Parents == 0 {
		i++ // the table has no such column
	}
	p.layout.Order, p.layout.Reversed = orders[i%len(orders)], false
	return p.reordered()
}

func (p *Page) reverse() tea.Msg {
	p.layout.Reversed = !p.layout.Reversed
	return p.reordered()
}

func (p *Page) reordered() tea.Msg {
	p.Refresh()
	name := orderNames[p.layout.Order][0]
	if p.layout.Reversed {
		name = orderNames[p.layout.Order][1]
	}
	return parts.Notify{Text: "ordered " + name}
}

func (p *Page) nextGroup() tea.Msg {
	groups := p.groups()
	p.layout.Group = groups[(slices.Index(groups, p.layout.Group)+1)%len(groups)]
	p.Refresh()
	return parts.Notify{Text: groupNames[p.layout.Group]}
}

func (p *Page) typeFilter() tea.Msg {
	p.filter.Type()
	return nil
}

// Back clears the filter, or shows all objects again. It reports whether there was anything
// to leave.
func (p *Page) Back() bool {
	switch {
	case p.filter.Text() != "":
		p.filter.Clear()
	case p.problemsOnly:
		p.problemsOnly = false
	default:
		return false
	}
	p.Refresh()
	return true
}
