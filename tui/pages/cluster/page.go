// Package cluster is the page with the cluster in use, the reason for choosing it, and the commands to access it.
package cluster

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of the cluster.
type Page struct {
	screen   *parts.Screen
	w, h     int
	viewport viewport.Model
}

// New returns the page.
func New(s *parts.Screen) *Page { return &Page{screen: s, viewport: viewport.New()} }

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns nil: the page has no filter.
func (p *Page) Filter() *parts.Filter { return nil }

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return p.h - 1 }

// Refresh does nothing: the page only draws the state.
func (p *Page) Refresh() {}

// Back reports that there is nothing to leave.
func (p *Page) Back() bool { return false }

// Move scrolls by d lines.
func (p *Page) Move(d int) { p.viewport.SetYOffset(p.viewport.YOffset() + d) }

// Click does nothing.
func (p *Page) Click(int, int) (again bool) { return false }

// Summary draws the state of the cluster.
func (p *Page) Summary(l *render.Line, short bool) {
	c := p.screen.State.Cluster
	word := p.screen.State.ClusterWord()
	l.Put(word.Tone, word.String())
	l.Also(explain.Dim, strings.TrimSpace(c.Provider+" "+c.Name))
	if short {
		return
	}
	l.Also(explain.Dim, c.Version).Also(explain.Dim, explain.ClusterProgress(c))
}

// maxLines is the maximum number of lines of the page, which no cluster reaches.
const maxLines = 200

// View draws the page.
func (p *Page) View() string {
	if p.w < 1 || p.h < 1 {
		return ""
	}
	s := p.screen.State
	c := s.Cluster
	b := p.screen.Block(p.w, maxLines)
	b.Blank()
	word := s.ClusterWord()
	drawFact(b, word.Tone, "state", strings.TrimSpace(word.String()+" "+explain.ClusterProgress(c)))
	if c.Error != "" {
		drawFact(b, explain.Err, "error", c.Error)
	} else {
		drawFact(b, explain.Err, "error", s.Lost())
	}
	drawFact(b, explain.Text, "provider", strings.TrimSpace(c.Provider+" "+c.Name))
	drawFact(b, explain.Dim, "chosen", c.Reason)
	drawFact(b, explain.Text, "server", strings.TrimSpace(c.Server+"  "+c.Version))
	drawFact(b, explain.Text, "kubeconfig", c.Kubeconfig)
	drawFact(b, explain.Text, "context", c.Context)
	drawFact(b, explain.Text, "manifests", strings.Join(s.Manifests, ", "))
	drawApplication(b, s)
	if s.Snapshot != nil {
		drawServed(b, s.Snapshot)
	}
	p.viewport.SetWidth(p.w)
	p.viewport.SetHeight(p.h)
	p.viewport.SetContentLines(b.Lines())
	return p.viewport.View()
}

// drawFact draws a fact in at most 6 lines, or nothing if it is empty.
func drawFact(b *render.Block, tone explain.Tone, name, value string) {
	for _, line := range render.Wrap(value, max(8, b.W-15), 6) {
		b.End(b.Line().Skip(1).Cell(explain.Dim, name, 12).Put(tone, line))
		name = ""
	}
}

// drawApplication draws the result of the last application of manifests, with the complete errors of rejected objects.
func drawApplication(b *render.Block, s *explain.State) {
	if s.Application.At.IsZero() {
		return
	}
	drawFact(b, explain.Text, "result", s.Application.String())
	for _, refused := range s.Application.Refused {
		name := "refused"
		for line := range strings.Lines(refused) {
			for _, part := range render.Wrap(strings.TrimSpace(line), max(8, b.W-15), maxLines) {
				b.End(b.Line().Skip(1).Cell(explain.Dim, name, 12).Put(explain.Err, part))
				name = ""
			}
		}
	}
}

// drawServed draws the resources that are watched, and the selectors that are not served.
func drawServed(b *render.Block, s *inspect.Snapshot) {
	b.Blank()
	where := "in all namespaces"
	if len(s.Operator.Namespaces) > 0 {
		where = "in " + strings.Join(s.Operator.Namespaces, ", ")
	}
	b.Rule(fmt.Sprintf("watched  %d  %s", len(s.Served), where), "")
	for _, r := range s.Served {
		glyph, tone, note := "✓", explain.OK, ""
		if !r.Listed {
			glyph, tone, note = "◌", explain.Warn, "being listed"
		}
		b.End(b.Line().Skip(1).Put(tone, glyph).Skip(1).Cell(explain.Text, r.Key, min(48, b.W/2)).Skip(1).Put(explain.Dim, r.Kind+"  "+note))
	}
	for _, u := range s.Unserved {
		l := b.Line().Skip(1).Put(explain.Warn, "!").Skip(1).Cell(explain.Text, u.Selector, min(48, b.W/2)).Skip(1)
		l.Put(explain.Warn, explain.UnservedReason(u.Reason))
		if len(u.Matches) > 0 {
			l.Put(explain.Dim, ": "+strings.Join(u.Matches, ", "))
		}
		b.End(l)
	}
}

var keys = struct{ copyKubeconfig key.Binding }{copyKubeconfig: parts.Key("c", "copy kubeconfig")}

// Actions returns the actions of the page.
func (p *Page) Actions() []parts.Action {
	unavailable := ""
	if p.screen.State.Cluster.Kubeconfig == "" {
		unavailable = "there is no cluster yet"
	}
	return []parts.Action{
		{Binding: keys.copyKubeconfig, Name: "copy the path of the kubeconfig", Column: parts.Look, Everywhere: true, InPlace: true, Unavailable: unavailable, Do: p.copyKubeconfig},
	}
}

func (p *Page) copyKubeconfig() tea.Msg { return parts.Copy{Text: p.screen.State.Cluster.Kubeconfig} }
