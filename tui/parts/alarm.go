package parts

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/render"
)

// DrawAlarm draws the line beneath the tabs: the alarm, or a rule if there is none.
func DrawAlarm(s *Screen, b *render.Block) {
	a := s.State.Alarm(s.Now)
	if held := s.Planning.alarm(s); held.Fact != "" && s.State.Cluster.Phase == runner.ClusterReady && s.State.Lost() == "" {
		a = held
	}
	l := b.Line()
	if a.Fact == "" {
		b.End(l.Put(explain.Faint, strings.Repeat("─", b.W)))
		return
	}
	l.Put(a.Tone, "── "+render.CutEnd(render.Clean(a.Fact), b.W-6)+" ")
	if space := l.Rest() - 5; a.Rest != "" && space > 8 {
		l.Put(explain.Dim, "· ").Put(explain.Text, render.CutEnd(render.Clean(a.Rest), space)+" ")
	}
	b.End(l.Put(a.Tone, strings.Repeat("─", max(0, l.Rest()))))
}
