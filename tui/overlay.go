package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// overlay lies above everything and has all the keys while it does.
type overlay interface {
	box(c *common) box
	key(name, text string) tea.Cmd
}

// box is a framed block of lines.
type box struct {
	lines []string
	width int
}

// newBox draws a frame around what is drawn inside. Boxes are for what lies above; what
// lies beside each other does without.
func newBox(c *common, width int, title string, inside func(p *canvas.Pane)) box {
	width = min(width, c.width)
	p := c.pane(max(1, width-4), max(1, c.height-3))
	inside(p)
	title = canvas.CutEnd(canvas.Clean(title), width-6)
	edge := func(l *canvas.Line, right string) string {
		l.Put(theme.Dim, strings.Repeat("─", max(0, l.Rest()-1)))
		return l.Put(theme.Dim, right).String()
	}
	top := canvas.NewLine(c.theme, width).Put(theme.Dim, "╭─ ").Put(theme.Accent, title).Put(theme.Dim, " ")
	lines := []string{edge(top, "╮")}
	side := func(s string) string { return canvas.NewLine(c.theme, 2).Put(theme.Dim, s).String() }
	for _, s := range p.Lines() {
		lines = append(lines, side("│")+s+side(" │"))
	}
	lines = append(lines, edge(canvas.NewLine(c.theme, width).Put(theme.Dim, "╰"), "╯"))
	return box{lines: lines, width: width}
}
