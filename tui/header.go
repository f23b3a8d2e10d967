package tui

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// chip is one of the states at the right of the header.
type chip struct {
	view   viewID // that it opens; 0 if none
	word   words.Word
	detail string
}

func (r *root) chips() []chip {
	c := r.common
	s := c.world.state

	operator := chip{word: words.Operator(s)}
	switch {
	case s.Process.Phase == runner.ProcessCrashed && !s.Process.RestartAt.IsZero():
		operator.detail = "starts " + words.In(s.Process.RestartAt.Sub(c.now))
	case s.Process.Phase == runner.ProcessRunning && !s.Process.Started.IsZero():
		operator.detail = words.Ago(c.since(s.Process.Started))
	}

	build := chip{view: viewBuild, word: words.Build(s.Build.Phase)}
	switch s.Build.Phase {
	case runner.BuildBuilt:
		build.detail = words.Took(s.Build.Took)
	case runner.BuildFailed:
		build.detail = words.Count(len(s.Build.Errors), "error")
	case runner.BuildBuilding:
		build.detail = words.Ago(c.since(s.Build.Started))
	}

	cluster := chip{view: viewCluster, word: words.Cluster(s.Cluster.Phase), detail: s.Cluster.Version}
	switch {
	case s.Cluster.Phase == runner.ClusterReady && c.world.lost() != "":
		cluster.word = words.Cluster(runner.ClusterGone)
	case s.Cluster.Phase == runner.ClusterReady:
		cluster.word.Text = s.Cluster.Provider
	case s.Cluster.Phase == runner.ClusterBuilding && s.Cluster.Total > 0:
		cluster.detail = fmt.Sprintf("%d/%d", s.Cluster.Done, s.Cluster.Total)
	}
	return []chip{operator, build, cluster}
}

// What is left out where there is no room, one after the other.
const (
	withDetails = iota
	withDigits
	withWords
	withGlyphs // but bad news keep their word
)

func (ch chip) width(level int) int {
	n := 2 + 1
	if level < withGlyphs || !ch.word.Quiet() {
		n += 1 + canvas.Width(ch.word.Text)
	}
	if level < withWords && ch.view != 0 {
		n += 2
	}
	if level < withDigits && ch.detail != "" {
		n += 1 + canvas.Width(ch.detail)
	}
	return n
}

func (ch chip) draw(l *canvas.Line, level int, here bool) {
	l.Skip(2)
	if level < withWords && ch.view != 0 {
		l.Put(theme.Dim, ch.view.key()+" ")
	}
	l.Put(ch.word.Token, ch.word.Glyph)
	if level < withGlyphs || !ch.word.Quiet() {
		token := ch.word.Token
		if ch.word.Quiet() {
			token = theme.Text
		}
		if here {
			token = theme.Accent
		}
		l.Skip(1).Put(token, ch.word.Text)
	}
	if level < withDigits && ch.detail != "" {
		l.Put(theme.Dim, " "+ch.detail)
	}
}

// drawHeader is the first line: the package, and the states of operator, build, cluster.
func (r *root) drawHeader(p *canvas.Pane) {
	chips := r.chips()
	need := func(level int) (n int) {
		for _, ch := range chips {
			n += ch.width(level)
		}
		return n
	}
	name := canvas.Clean(r.title())
	level := withDetails
	for level < withGlyphs && need(level)+canvas.Width(" kopf "+name)+2 > p.W {
		level++
	}
	l := p.Line().Skip(1).Put(theme.Title, "kopf").Skip(1)
	l.Put(theme.Dim, canvas.CutStart(name, p.W-need(level)-l.Used()-2))
	l.To(p.W - need(level) - 1)
	for _, ch := range chips {
		from := l.Used() + 2
		ch.draw(l, level, ch.view == r.current && r.object == nil)
		if ch.view != 0 {
			r.common.zones.add(0, from, l.Used(), ch.view.key())
		}
	}
	p.End(l)
}

// drawTabs is the second line.
func (r *root) drawTabs(p *canvas.Pane) {
	y := p.Len()
	l := p.Line().Skip(1)
	for _, id := range tabs {
		token := theme.Dim
		if id == r.current {
			token = theme.Accent
		}
		from := l.Used()
		l.Put(token, id.key()+" "+viewNames[id])
		r.common.zones.add(y, from, l.Used(), id.key())
		l.Skip(2)
	}
	if r.current == viewBuild || r.current == viewCluster {
		l.Right(theme.Accent, r.current.key()+" "+viewNames[r.current])
	}
	p.End(l)
}

// drawAlarm is the third line: a rule in peace.
func (r *root) drawAlarm(p *canvas.Pane) {
	a := r.common.world.alarm(r.common.now)
	l := p.Line()
	if a.fact == "" {
		p.End(l.Put(theme.Faint, strings.Repeat("─", p.W)))
		return
	}
	l.Put(a.token, "── "+canvas.CutEnd(canvas.Clean(a.fact), p.W-6)+" ")
	if room := l.Rest() - 5; a.rest != "" && room > 8 {
		l.Put(theme.Dim, "· ").Put(theme.Text, canvas.CutEnd(canvas.Clean(a.rest), room)+" ")
	}
	p.End(l.Put(a.token, strings.Repeat("─", max(0, l.Rest()))))
}
