package resources

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// viewStart draws the page without objects: the progress of the start, or the next step.
func viewStart(s *parts.Screen, w, h int) string {
	b := s.Block(w, h)
	for range min(3, h/6) {
		b.Blank()
	}
	switch {
	case s.State.Snapshot == nil || !s.State.Live:
		drawSteps(s, b)
	case !explain.AllListed(s.State.Snapshot):
		b.End(b.Line().Skip(3).Put(explain.Title, "Your operator runs and lists the objects."))
	default:
		b.End(b.Line().Skip(3).Put(explain.Title, "Your operator runs and waits for objects."))
		b.Blank()
		drawWatched(s, b)
		b.Blank()
		drawHints(s, b)
	}
	return b.String()
}

// summarizeStart draws the summary of the page while there are no objects.
func summarizeStart(s *parts.Screen, l *render.Line) {
	word := explain.OperatorWord(s.State.State)
	switch {
	case s.State.Snapshot != nil && s.State.Live:
		l.Put(explain.Dim, "no objects yet")
		return
	case s.State.Attached != "":
	case s.State.Build.Phase == runner.BuildFailed:
		word = explain.BuildWord(s.State.Build.Phase)
	case s.State.Cluster.Phase != runner.ClusterReady:
		word = explain.ClusterWord(s.State.Cluster.Phase)
		l.Put(word.Tone, word.String()).Put(explain.Dim, "  "+explain.ClusterProgress(s.State.Cluster))
		return
	case s.State.Build.Phase != runner.BuildBuilt:
		word = explain.BuildWord(s.State.Build.Phase)
	}
	l.Put(word.Tone, word.String())
}

// drawWatched draws the resources and the namespaces that the operator watches.
func drawWatched(s *parts.Screen, b *render.Block) {
	snapshot := s.State.Snapshot
	where := "in all namespaces; no objects exist yet."
	if len(snapshot.Operator.Namespaces) > 0 {
		where = "in " + strings.Join(snapshot.Operator.Namespaces, ", ") + "; no objects exist yet."
	}
	for i, r := range snapshot.Served {
		what := "         and "
		if i == 0 {
			what = "It watches   "
		}
		b.End(b.Line().Skip(3).Put(explain.Dim, what).Put(explain.Accent, r.Key))
	}
	switch {
	case len(snapshot.Served) > 0:
		b.End(b.Line().Skip(16).Put(explain.Dim, where))
	case len(snapshot.Reviewed) == 0:
		b.End(b.Line().Skip(3).Put(explain.Dim, "It watches nothing yet."))
	}
	for i, key := range snapshot.Reviewed {
		what := "         and "
		if i == 0 {
			what = "It reviews   "
		}
		b.End(b.Line().Skip(3).Put(explain.Dim, what).Put(explain.Accent, key))
	}
	for _, u := range snapshot.Unserved {
		b.End(b.Line().Skip(3).Put(explain.Warn, "! ").Put(explain.Text, u.Selector).Put(explain.Warn, " "+explain.UnservedReason(u.Reason)))
	}
}

// drawHints draws the keys of the next possible actions.
func drawHints(s *parts.Screen, b *render.Block) {
	hint := func(key, what, more string) {
		b.End(b.Line().Skip(3).Cell(explain.Title, key, 4).Put(explain.Text, what).Put(explain.Dim, more))
	}
	if len(s.State.Manifests) > 0 {
		hint("a", "apply ", parts.ManifestNames(s.State))
	}
	if s.State.NotConnected() == "" && len(s.State.Served())+len(s.State.Reviewed()) > 0 {
		hint("C", "create an object, ", "from a manifest or from the schema")
	}
	hint("9", "the kubeconfig, ", "to use kubectl as usual")
	hint("2", "see "+explain.Count(len(s.State.Snapshot.Handlers), "handler"), " that were registered")
}

// drawSteps draws the steps of the start: the cluster, the build, the operator.
func drawSteps(s *parts.Screen, b *render.Block) {
	c := s.State.Cluster
	cluster := c.Error
	if cluster == "" {
		cluster = explain.ClusterProgress(c)
	}
	if c.Phase == runner.ClusterReady {
		cluster = fmt.Sprintf("%s %s  %s", c.Provider, c.Version, c.Server)
	}
	drawStep(b, "cluster", explain.ClusterWord(c.Phase), cluster)
	if c.Phase == runner.ClusterBuilding && c.Total > 0 {
		drawProgress(b, c.Done, c.Total)
	}

	build := ""
	switch s.State.Build.Phase {
	case runner.BuildBuilding:
		build = explain.Ago(s.Since(s.State.Build.Started))
	case runner.BuildBuilt:
		build = "in " + explain.Took(s.State.Build.Took)
	case runner.BuildFailed:
		build = explain.Count(len(s.State.Build.Errors), "error") + "; press 8 to see them"
	}
	drawStep(b, "build", explain.BuildWord(s.State.Build.Phase), build)
	drawStep(b, "operator", explain.OperatorWord(s.State.State), s.State.Process.Error)

	if s.State.Build.Phase == runner.BuildFailed {
		b.Blank()
		for _, e := range s.State.Build.Errors {
			b.End(b.Line().Skip(3).Put(explain.Err, "✗ ").Put(explain.Title, e.Position()).Skip(1).Put(explain.Text, explain.FirstLine(e.Message)))
		}
	}
}

// stepLines is the number of lines of an error that are shown beside a failed step.
const stepLines = 8

func drawStep(b *render.Block, name string, word explain.Word, what string) {
	tone := explain.Text
	if !word.Quiet() {
		tone = word.Tone
	}
	l := b.Line().Skip(3).Cell(explain.Dim, name, 10).Put(word.Tone, word.Glyph).Skip(1).Cell(tone, word.Text, 13)
	indent := l.Used()
	for i, line := range wrapLines(what, l.Rest(), stepLines) {
		if i > 0 {
			l = b.Line().Skip(indent)
		}
		b.End(l.Put(explain.Dim, line))
	}
}

// wrapLines wraps a text of several lines into 1 to n lines. If the text is longer, the last line
// ends with an ellipsis.
func wrapLines(s string, w, n int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(s, "\n") {
		if len(lines) < n {
			lines = append(lines, render.Wrap(paragraph, w, n-len(lines))...)
			continue
		}
		if last := &lines[n-1]; strings.TrimSpace(paragraph) != "" && !strings.HasSuffix(*last, render.Ellipsis) {
			*last = render.CutEnd(*last+render.Ellipsis, w)
			break
		}
	}
	if len(lines) == 0 {
		return []string{""}
	}
	return lines
}

// drawProgress draws a bar.
func drawProgress(b *render.Block, done, total int) {
	const width = 40
	full := min(width, width*done/total)
	b.End(b.Line().Skip(15).Put(explain.Busy, strings.Repeat("━", full)).Put(explain.Faint, strings.Repeat("─", width-full)))
}
