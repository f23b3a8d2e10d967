package object

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/parts"
)

var keys = struct {
	next, previous, back, open, handlers, why, children, yaml, events, log, fold, below, managed, match, matchBefore, wrap, filter, copy, save key.Binding
}{
	next:     parts.Key("tab", "next tab", "right"),
	previous: parts.Key("shift+tab", "", "left"),
	back:     parts.Key("esc", "back"),
	open:     parts.Key("enter", "YAML"),
	handlers: parts.Key("h", ""),
	why:      parts.Key("w", ""),
	children: parts.Key("o", ""),
	yaml:     parts.Key("y", ""),
	events:   parts.Key("v", ""),
	log:      parts.Key("l", ""),
	fold:     parts.Key("enter", "fold"),
	below:    parts.Key("f", "unfold"),
	managed:  parts.Key("m", "managed"),
	match:    parts.Key("n", ""),

	matchBefore: parts.Key("N", ""),

	wrap:   parts.Key("z", ""),
	filter: parts.Key("/", ""),
	copy:   parts.Key("c", ""),
	save:   parts.Key("s", ""),
}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	actions := []parts.Action{
		{Binding: keys.next, Name: "next tab", Column: parts.Go, Do: p.turnBy(+1)},
		{Binding: keys.previous, Name: "previous tab", Column: parts.Go, Do: p.turnBy(-1)},
		{Binding: keys.back, Name: "back", Column: parts.Go, Do: func() tea.Msg { return parts.Back{} }},
	}
	actions = append(actions, p.tabActions()...)
	actions = append(actions,
		parts.Action{Binding: keys.handlers, Name: "handlers of the object", Column: parts.Look, Do: p.turn(parts.HandlersTab)},
		parts.Action{Binding: keys.why, Name: "why handlers ran or did not", Column: parts.Look, Do: p.turn(parts.WhyTab)},
		parts.Action{Binding: keys.children, Name: "children of the object", Column: parts.Look, Do: p.turn(parts.ChildrenTab)},
		parts.Action{Binding: keys.yaml, Name: "YAML of the object", Column: parts.Look, Do: p.turn(parts.YAMLTab)},
		parts.Action{Binding: keys.events, Name: "Kubernetes events", Column: parts.Look, Do: p.turn(parts.EventsTab)},
		parts.Action{Binding: keys.log, Name: "log of the object", Column: parts.Look, Do: p.turn(parts.LogTab)},
		parts.Retry(p.screen, p.last, p.gone),
		p.retryHandler(),
		parts.PauseObject(p.screen, p.last, p.gone),
	)
	actions = append(actions, parts.ObjectChanges(p.screen, p.last, p.gone)...)
	return append(actions, parts.CopyName(p.last))
}

// tabActions returns the actions of the tab that is shown.
func (p *Page) tabActions() []parts.Action {
	if yaml := p.shownYAML(); yaml != nil {
		return p.yamlActions(yaml)
	}
	switch p.tab {
	case parts.ChildrenTab:
		if len(p.children.rows) == 0 {
			return nil
		}
		return []parts.Action{
			{Binding: keys.open, Name: "YAML of the child", Column: parts.Go, Unavailable: p.children.cannotOpen(), Do: p.do(p.children.open)},
			{Binding: keys.below, Name: "fold or unfold the objects below", Column: parts.Look, Unavailable: p.children.cannotFold(), Do: p.do(p.children.fold)},
		}
	case parts.EventsTab:
		return []parts.Action{
			{Binding: keys.filter, Name: "filter the events", Column: parts.Go, Do: p.do(p.events.filter.Type)},
		}
	case parts.LogTab:
		return []parts.Action{
			{Binding: keys.wrap, Name: "wrap or cut the lines of the log", Column: parts.Look, Do: p.do(func() { p.log.Wrap = !p.log.Wrap })},
			{Binding: keys.filter, Name: "filter the log", Column: parts.Go, Do: p.do(p.log.Filter.Type)},
			parts.SaveLog(p.log),
		}
	}
	return nil
}

func (p *Page) yamlActions(yaml *yamlPane) []parts.Action {
	noText, noMatch := "", ""
	if yaml.text() == "" {
		noText = "there is nothing to copy yet"
	}
	if len(yaml.matches) == 0 {
		noMatch = "nothing is searched for; / searches"
	}
	return []parts.Action{
		{Binding: keys.fold, Name: "fold or unfold", Column: parts.Look, Do: p.do(yaml.fold)},
		{Binding: keys.managed, Name: "managed fields on or off", Column: parts.Look, Do: p.do(yaml.toggleManaged)},
		{Binding: keys.filter, Name: "search", Column: parts.Go, Do: p.do(yaml.search.Type)},
		{Binding: keys.match, Name: "next match", Column: parts.Go, Unavailable: noMatch, Do: p.do(func() { yaml.next(+1) })},
		{Binding: keys.matchBefore, Name: "previous match", Column: parts.Go, Unavailable: noMatch, Do: p.do(func() { yaml.next(-1) })},
		{Binding: keys.wrap, Name: "wrap or cut long lines", Column: parts.Look, Do: p.do(func() { yaml.wrap = !yaml.wrap })},
		{Binding: keys.copy, Name: "copy the YAML", Column: parts.Look, Unavailable: noText, Do: func() tea.Msg {
			text := yaml.text()
			return parts.Copy{Text: text, What: explain.Count(strings.Count(text, "\n"), "line") + " of YAML"}
		}},
	}
}

// do returns the function of an action that only concerns the page.
func (p *Page) do(f func()) func() tea.Msg {
	return func() tea.Msg {
		f()
		return nil
	}
}

// retryHandler returns the action on the selected handler.
func (p *Page) retryHandler() parts.Action {
	rows := handlerRows(p.last)
	switch {
	case p.tab != parts.HandlersTab:
		return unavailable(parts.RetryHandler(p.screen, nil, "", p.gone), "only among the handlers (h)")
	case p.handlers.Cursor >= len(rows):
		return unavailable(parts.RetryHandler(p.screen, nil, "", p.gone), "no handler is selected")
	}
	return parts.RetryHandler(p.screen, p.last, rows[p.handlers.Cursor].ID, p.gone)
}

func unavailable(a parts.Action, why string) parts.Action {
	a.Unavailable = why
	return a
}

func (p *Page) turn(tab parts.ObjectTab) func() tea.Msg {
	return p.do(func() {
		if p.tab == tab {
			p.children.opened = nil // if the tab is shown already, its key closes the opened child
		}
		p.tab = tab
	})
}

// turnBy returns the function of an action that shows another tab, d tabs to the right.
func (p *Page) turnBy(d int) func() tea.Msg {
	return p.do(func() {
		tabs := p.tabs()
		p.tab = tabs[(slices.Index(tabs, p.tab)+d+len(tabs))%len(tabs)]
	})
}

// Back clears the filter, or closes the opened child. It reports whether there was a filter or an
// opened child.
func (p *Page) Back() bool {
	f := p.Filter()
	switch {
	case f != nil && f.Text() != "":
		f.Clear()
		p.Refresh()
	case p.tab == parts.ChildrenTab && p.children.opened != nil:
		p.children.opened = nil
	default:
		return false
	}
	return true
}
