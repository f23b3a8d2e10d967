package tui

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// clusterView tells which cluster it is, why this one, and how to get into it.
type clusterView struct {
	common *common
	scroll canvas.Scroll
	height int
}

func (v *clusterView) changed()            {}
func (v *clusterView) move(d int)          { v.scroll.Move(d) }
func (v *clusterView) page() int           { return v.height - 1 }
func (v *clusterView) search() *filter     { return nil }
func (v *clusterView) click(int, int) bool { return false }

// state is the word for the cluster: ready only if it answers.
func (v *clusterView) state() words.Word {
	if s := v.common.world.state; s.Cluster.Phase == runner.ClusterReady && v.common.world.lost() == "" {
		return words.Cluster(runner.ClusterReady)
	} else if s.Cluster.Phase == runner.ClusterReady {
		return words.Cluster(runner.ClusterGone)
	}
	return words.Cluster(v.common.world.state.Cluster.Phase)
}

func (v *clusterView) answer(l *canvas.Line, short bool) {
	c := v.common.world.state.Cluster
	word := v.state()
	l.Put(word.Token, word.String())
	for _, s := range []string{strings.TrimSpace(c.Provider + " " + c.Name), c.Version, progress(c)} {
		l.Also(theme.Dim, s)
		if short {
			return
		}
	}
}

// progress is how far a cluster is that is not ready yet.
func progress(c runner.Cluster) string {
	switch {
	case c.Phase == runner.ClusterBuilding && c.Total > 0:
		return fmt.Sprintf("%d of %d packages, once for all", c.Done, c.Total)
	case c.Phase == runner.ClusterReady || c.Phase == runner.ClusterNone:
		return ""
	}
	return c.Message
}

func (v *clusterView) body(w, h int) []string {
	v.height = h
	s := v.common.world.state
	c := s.Cluster
	all := v.common.pane(w, 200)
	fact := func(token theme.Token, name, value string) {
		if value != "" {
			for i, line := range canvas.Wrap(value, max(8, w-15), 6) {
				if i > 0 {
					name = ""
				}
				all.End(all.Line().Skip(1).Cell(theme.Dim, name, 12).Put(token, line))
			}
		}
	}
	all.Blank()
	word := v.state()
	fact(word.Token, "state", strings.TrimSpace(word.String()+" "+progress(c)))
	fact(theme.Err, "error", c.Error)
	if c.Error == "" {
		fact(theme.Err, "error", v.common.world.lost())
	}
	fact(theme.Text, "provider", strings.TrimSpace(c.Provider+" "+c.Name))
	fact(theme.Dim, "chosen", c.Reason)
	fact(theme.Text, "server", strings.TrimSpace(c.Server+"  "+c.Version))
	fact(theme.Text, "kubeconfig", c.Kubeconfig)
	fact(theme.Text, "context", c.Context)
	fact(theme.Text, "manifests", joined(s.Manifests))
	if s.Snapshot != nil {
		v.drawServed(all, s.Snapshot)
	}
	v.scroll.Fit(all.Len(), h)
	p := v.common.pane(w, h)
	p.Add(all.Lines()[v.scroll.Offset:]...)
	return p.Fill()
}

// drawServed lists what is watched, and what cannot be.
func (v *clusterView) drawServed(p *canvas.Pane, s *inspect.Snapshot) {
	p.Blank()
	where := "in all namespaces"
	if len(s.Operator.Namespaces) > 0 {
		where = "in " + joined(s.Operator.Namespaces)
	}
	p.Rule(fmt.Sprintf("watched  %d  %s", len(s.Served), where), "")
	for _, r := range s.Served {
		glyph, token, note := "✓", theme.OK, ""
		if !r.Listed {
			glyph, token, note = "◌", theme.Warn, "being listed"
		}
		p.End(p.Line().Skip(1).Put(token, glyph).Skip(1).Cell(theme.Text, r.Key, min(48, p.W/2)).Skip(1).Put(theme.Dim, r.Kind+"  "+note))
	}
	for _, u := range s.Unserved {
		l := p.Line().Skip(1).Put(theme.Warn, "!").Skip(1).Cell(theme.Text, u.Selector, min(48, p.W/2)).Skip(1)
		l.Put(theme.Warn, unservedReason(u.Reason))
		if len(u.Matches) > 0 {
			l.Put(theme.Dim, ": "+joined(u.Matches))
		}
		p.End(l)
	}
}
