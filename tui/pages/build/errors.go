package build

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/render"
)

// drawError draws the place of an error, its message, and the source around it.
func drawError(b *render.Block, e *runner.BuildError, selected bool) {
	mark := " "
	if selected {
		mark = "▌"
	}
	message := strings.Split(strings.TrimSpace(e.Message), "\n")
	l := b.Line().Put(explain.Accent, mark).Put(explain.Err, "✗ ").Put(explain.Title, e.Position())
	if e.File != "" {
		l.Skip(2)
	}
	b.End(l.Put(explain.Text, message[0]))
	for _, m := range message[1:] {
		b.Text(explain.Text, "     "+strings.TrimSpace(m))
	}
	for i, source := range e.Source {
		n := e.SourceAt + i
		text, number := explain.Dim, explain.Dim
		if n == e.Line {
			text, number = explain.Text, explain.Err
		}
		b.End(b.Line().Skip(3).Put(number, fmt.Sprintf("%5d ", n)).Put(explain.Faint, "│ ").Put(text, expandTabs(source)))
		if n == e.Line && e.Column > 0 {
			before := expandTabs(source[:min(len(source), e.Column-1)])
			l := b.Line().Skip(9).Put(explain.Faint, "│ ").Skip(render.Width(render.Clean(before)))
			b.End(l.Put(explain.Err, "^"))
		}
	}
}

// expandTabs replaces tabs with spaces, so that the caret is below the column of the error.
func expandTabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
