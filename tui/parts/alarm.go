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
	var runKey, more string
	if held := s.Planning.alarm(s); held.Fact != "" && s.State.Cluster.Phase == runner.ClusterReady && s.State.Lost() == "" {
		if urgent := s.State.Urgent(s.Now); urgent.Fact != "" {
			a, runKey = urgent, "b runs the saved build"
		} else {
			a, runKey, more = held, "b runs it", "i plan"
		}
	}
	l := b.Line()
	if a.Fact == "" {
		b.End(l.Put(explain.Faint, strings.Repeat("─", b.W)))
		return
	}
	reserved := 0 // the key is never cut off
	if runKey != "" {
		reserved = render.Width("· " + runKey + " ")
	}
	l.Put(a.Tone, "── "+render.CutEnd(render.Clean(a.Fact), b.W-6-reserved)+" ")
	if space := l.Rest() - 5 - reserved; a.Rest != "" && space > 8 {
		l.Put(explain.Dim, "· ").Put(explain.Text, render.CutEnd(render.Clean(a.Rest), space)+" ")
	}
	for _, key := range []string{runKey, more} {
		if key != "" && l.Rest() >= render.Width("· "+key+" ") {
			l.Put(explain.Dim, "· ").Put(explain.Text, key+" ")
		}
	}
	b.End(l.Put(a.Tone, strings.Repeat("─", max(0, l.Rest()))))
}
