package render

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/explain"
)

// Overlay lays a box on a screen of lines, with its corner at x and y. It modifies the
// lines that the box covers.
func Overlay(screen []string, box string, x, y int) {
	end := min(len(screen), y+lipgloss.Height(box))
	if y < 0 || y >= end {
		return
	}
	covered := screen[y:end]
	width := ansi.StringWidth(covered[0])
	canvas := lipgloss.NewCanvas(width, len(covered))
	canvas.Compose(lipgloss.NewCompositor(
		lipgloss.NewLayer(strings.Join(covered, "\n")),
		lipgloss.NewLayer(box).X(x).Z(1),
	))
	for i, line := range strings.Split(canvas.Render(), "\n") {
		covered[i] = line + spaces(width-ansi.StringWidth(line)) // blanks at the end are trimmed
	}
}

// Frame draws a border around lines, with a title in it. Width is the width of the border; the lines must be four
// cells narrower.
func (t *Theme) Frame(width int, title string, lines []string) string {
	border := lipgloss.RoundedBorder()
	if t.ASCII {
		border = lipgloss.ASCIIBorder()
	}
	top := NewLine(t, width).Put(explain.Dim, border.TopLeft+border.Top+" ").Put(explain.Accent, CutEnd(Clean(title), width-6)).Put(explain.Dim, " ")
	top.Put(explain.Dim, strings.Repeat(border.Top, max(0, top.Rest()-1))).Put(explain.Dim, border.TopRight)
	box := lipgloss.NewStyle().Border(border, false, true, true).BorderForeground(t.Style(explain.Dim).GetForeground()).Padding(0, 1)
	return lipgloss.JoinVertical(lipgloss.Left, top.String(), box.Render(strings.Join(lines, "\n")))
}

// Beside joins two blocks of equal height, with a line between them. Unlike lipgloss.JoinHorizontal, it does not
// measure the lines, because they have exact widths, and measuring would take half the time of a frame.
func (t *Theme) Beside(left, right []string) string {
	bar := lipgloss.NormalBorder().Left
	if t.ASCII {
		bar = lipgloss.ASCIIBorder().Left
	}
	bar = t.Render(explain.Faint, bar)
	lines := make([]string, len(left))
	for i := range left {
		lines[i] = left[i] + bar + right[i]
	}
	return strings.Join(lines, "\n")
}
