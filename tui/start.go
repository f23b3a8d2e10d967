package tui

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// start is what stands in the place of the objects while there are none: how far the
// start is, or what to do next.
func (c *common) start(w, h int) []string {
	p := c.pane(w, h)
	for range min(3, h/6) {
		p.Blank()
	}
	s := c.world.state
	if s.Snapshot == nil || !s.Live {
		c.drawSteps(p)
		return p.Fill()
	}
	if !c.world.listed() {
		p.End(p.Line().Skip(3).Put(theme.Title, "Your operator runs, and looks what is there."))
		return p.Fill()
	}
	p.End(p.Line().Skip(3).Put(theme.Title, "Your operator runs and waits for objects."))
	p.Blank()
	c.drawWatched(p)
	p.Blank()
	key := func(key, what, more string) {
		p.End(p.Line().Skip(3).Cell(theme.Title, key, 4).Put(theme.Text, what).Put(theme.Dim, more))
	}
	if len(s.Manifests) > 0 {
		key("a", "apply ", manifests(s))
	}
	key("9", "the kubeconfig, ", "to use kubectl as ever")
	key("2", "see "+words.Count(len(s.Snapshot.Handlers), "handler"), " that were registered")
	return p.Fill()
}

// answerStart is the answer line while there are no objects.
func (c *common) answerStart(l *canvas.Line) {
	s := c.world.state
	word := words.Operator(s)
	switch {
	case s.Snapshot != nil && s.Live:
		l.Put(theme.Dim, "no objects yet")
		return
	case s.Build.Phase == runner.BuildFailed:
		word = words.Build(s.Build.Phase)
	case s.Cluster.Phase != runner.ClusterReady:
		word = words.Cluster(s.Cluster.Phase)
		l.Put(word.Token, word.String()).Put(theme.Dim, "  "+progress(s.Cluster))
		return
	case s.Build.Phase != runner.BuildBuilt:
		word = words.Build(s.Build.Phase)
	}
	l.Put(word.Token, word.String())
}

// drawWatched says what the operator would see.
func (c *common) drawWatched(p *canvas.Pane) {
	s := c.world.state.Snapshot
	where := "in all namespaces; there are none yet."
	if len(s.Operator.Namespaces) > 0 {
		where = "in " + joined(s.Operator.Namespaces) + "; there are none yet."
	}
	for i, r := range s.Served {
		what := "         and "
		if i == 0 {
			what = "It watches   "
		}
		p.End(p.Line().Skip(3).Put(theme.Dim, what).Put(theme.Accent, r.Key))
	}
	if len(s.Served) > 0 {
		p.End(p.Line().Skip(16).Put(theme.Dim, where))
	} else {
		p.End(p.Line().Skip(3).Put(theme.Dim, "It watches nothing yet."))
	}
	for _, u := range s.Unserved {
		p.End(p.Line().Skip(3).Put(theme.Warn, "! ").Put(theme.Text, u.Selector).Put(theme.Warn, " "+unservedReason(u.Reason)))
	}
}

// stepLines is how much of an error stands beside the step that has failed.
const stepLines = 8

// paragraphs wraps a text that has lines of its own. There is at least one line, and no more
// than n: the last one tells if there would be more.
func paragraphs(s string, w, n int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(s, "\n") {
		if len(lines) < n {
			lines = append(lines, canvas.Wrap(paragraph, w, n-len(lines))...)
			continue
		}
		if last := &lines[n-1]; strings.TrimSpace(paragraph) != "" && !strings.HasSuffix(*last, canvas.Ellipsis) {
			*last = canvas.CutEnd(*last+canvas.Ellipsis, w)
			break
		}
	}
	if len(lines) == 0 {
		return []string{""}
	}
	return lines
}

// drawSteps is the way from nothing to a running operator.
func (c *common) drawSteps(p *canvas.Pane) {
	s := c.world.state
	step := func(name string, word words.Word, what string) {
		token := theme.Text
		if !word.Quiet() {
			token = word.Token
		}
		l := p.Line().Skip(3).Cell(theme.Dim, name, 10).Put(word.Token, word.Glyph).Skip(1).Cell(token, word.Text, 13)
		indent := l.Used()
		for i, line := range paragraphs(what, l.Rest(), stepLines) {
			if i > 0 {
				l = p.Line().Skip(indent)
			}
			p.End(l.Put(theme.Dim, line))
		}
	}
	cluster := s.Cluster.Error
	if cluster == "" {
		cluster = progress(s.Cluster)
	}
	if s.Cluster.Phase == runner.ClusterReady {
		cluster = fmt.Sprintf("%s %s  %s", s.Cluster.Provider, s.Cluster.Version, s.Cluster.Server)
	}
	step("cluster", words.Cluster(s.Cluster.Phase), cluster)
	if s.Cluster.Phase == runner.ClusterBuilding && s.Cluster.Total > 0 {
		c.drawBar(p, s.Cluster.Done, s.Cluster.Total)
	}

	build := ""
	switch s.Build.Phase {
	case runner.BuildBuilding:
		build = words.Ago(c.since(s.Build.Started))
	case runner.BuildBuilt:
		build = "in " + words.Took(s.Build.Took)
	case runner.BuildFailed:
		build = words.Count(len(s.Build.Errors), "error") + ", 8 shows them at their places"
	}
	step("build", words.Build(s.Build.Phase), build)
	step("operator", words.Operator(s), s.Process.Error)

	if s.Build.Phase == runner.BuildFailed {
		p.Blank()
		for _, e := range s.Build.Errors {
			p.End(p.Line().Skip(3).Put(theme.Err, "✗ ").Put(theme.Title, e.Position()).Skip(1).Put(theme.Text, firstLine(e.Message)))
		}
	}
}

// drawBar is progress that can be seen from afar.
func (c *common) drawBar(p *canvas.Pane, done, total int) {
	const width = 40
	full := min(width, width*done/total)
	l := p.Line().Skip(15)
	for i := range width {
		if i < full {
			l.Put(theme.Run, "━")
		} else {
			l.Put(theme.Faint, "─")
		}
	}
	p.End(l)
}

// manifests names what will be applied.
func manifests(s *runner.State) string {
	var names []string
	for _, m := range s.Manifests {
		if rel, err := filepath.Rel(s.Dir, m); err == nil && filepath.IsLocal(rel) {
			m = rel
		}
		names = append(names, canvas.CutStart(m, 40))
	}
	return joined(names)
}
