package build

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/render"
)

// drawError draws the place of an error, its message, and the source around it.
func drawError(b *render.Block, e *runner.BuildError, selected bool) {
	mark := " "
	if selected {
		mark = "▌"
	}
	message := strings.Split(strings.TrimSpace(e.Message), "\n")
	l := b.Line().Put(model.Accent, mark).Put(model.Err, "✗ ").Put(model.Title, e.Position())
	if e.File != "" {
		l.Skip(2)
	}
	b.End(l.Put(model.Text, message[0]))
	for _, m := range message[1:] {
		b.Text(model.Text, "     "+strings.TrimSpace(m))
	}
	for i, source := range e.Source {
		n := e.SourceAt + i
		text, number := model.Dim, model.Dim
		if n == e.Line {
			text, number = model.Text, model.Err
		}
		b.End(b.Line().Skip(3).Put(number, fmt.Sprintf("%5d ", n)).Put(model.Faint, "│ ").Put(text, expandTabs(source)))
		if n == e.Line && e.Column > 0 {
			before := expandTabs(source[:min(len(source), e.Column-1)])
			l := b.Line().Skip(9).Put(model.Faint, "│ ").Skip(render.Width(render.Clean(before)))
			b.End(l.Put(model.Err, "^"))
		}
	}
}

// expandTabs replaces tabs, so that the caret is beneath its column.
func expandTabs(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
