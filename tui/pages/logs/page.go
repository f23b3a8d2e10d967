// Package logs is the page with the whole log.
package logs

import (
	"fmt"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of the log.
type Page struct {
	screen *parts.Screen
	w, h   int
	log    *parts.LogPane
}

// New returns the page.
func New(s *parts.Screen) *Page { return &Page{screen: s, log: parts.NewLogPane(s, nil)} }

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns the filter.
func (p *Page) Filter() *parts.Filter { return &p.log.Filter }

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return p.log.Rows() - 1 }

// Refresh collects the lines again.
func (p *Page) Refresh() { p.log.Refresh() }

// Move scrolls by d lines.
func (p *Page) Move(d int) { p.log.Move(d) }

// Click does nothing.
func (p *Page) Click(int, int) (again bool) { return false }

// Summary draws the level, and whether the page follows the log.
func (p *Page) Summary(l *render.Line, short bool) {
	level := p.log.Level()
	l.Put(explain.Text, string(explain.LogLevels[level]))
	if level+1 < len(explain.LogLevels) {
		l.Put(explain.Text, " and above")
	}
	l.Put(explain.Faint, " · ")
	switch newer, held := p.log.Held(); {
	case !held:
		l.Put(explain.Busy, "▸ following")
	case newer > 0:
		l.Put(explain.Warn, fmt.Sprintf("‖ held, %s newer", explain.Thousands(newer)))
	default:
		l.Put(explain.Warn, "‖ held")
	}
	if short {
		return
	}
	l.Also(explain.Dim, explain.Count(p.log.Len(), "line"))
	if n := p.screen.State.LogDropped; n > 0 {
		l.Also(explain.Dim, explain.Thousands(n)+" dropped")
	}
	if p.log.Filter.Visible() {
		p.log.Filter.Draw(p.screen, l.Skip(3))
	}
}

// View draws the page.
func (p *Page) View() string {
	b := p.screen.Block(p.w, p.h)
	p.log.Draw(b, "nothing has been logged yet; lines of handlers, and the program's output, appear here")
	return b.String()
}

var keys = struct{ follow, wrap, level, filter key.Binding }{
	follow: parts.Key("f", "follow"),
	wrap:   parts.Key("z", "wrap"),
	level:  parts.Key("v", "level"),
	filter: parts.Key("/", "filter"),
}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	return []parts.Action{
		{Binding: keys.follow, Name: "follow or hold the log", Column: parts.Look, Do: p.toggleFollow},
		{Binding: keys.wrap, Name: "wrap or cut long lines", Column: parts.Look, Do: p.toggleWrap},
		{Binding: keys.level, Name: "level of the log", Column: parts.Look, Everywhere: true, Do: p.changeLevel},
		{Binding: keys.filter, Name: "filter", Column: parts.Go, Do: p.typeFilter},
		parts.SaveLog(p.log),
	}
}

func (p *Page) toggleFollow() tea.Msg {
	_, held := p.log.Held()
	p.log.Follow(held)
	return nil
}

func (p *Page) toggleWrap() tea.Msg {
	p.log.Wrap = !p.log.Wrap
	return nil
}

// changeLevel changes the lowest shown level. The operator sends debug lines only on request,
// because there are many of them.
func (p *Page) changeLevel() tea.Msg {
	before := sentLevel(p.log.Level())
	p.log.NextLevel()
	level := p.log.Level()
	if p.screen.State.Held() == "not running" || sentLevel(level) == before {
		return nil
	}
	return parts.Request{
		What:   "log from " + string(explain.LogLevels[level]),
		Intent: runner.Intent{Kind: runner.IntentLogLevel, Value: string(sentLevel(level))},
	}
}

// sentLevel returns the level from which the operator must send lines.
func sentLevel(shown int) inspect.LogLevel {
	return explain.LogLevels[min(shown, explain.LevelRank(inspect.LevelInfo))]
}

func (p *Page) typeFilter() tea.Msg {
	p.log.Filter.Type()
	return nil
}

// Back clears the filter. It reports whether there was one.
func (p *Page) Back() bool {
	if p.log.Filter.Text() == "" {
		return false
	}
	p.log.Filter.Clear()
	p.Refresh()
	return true
}
