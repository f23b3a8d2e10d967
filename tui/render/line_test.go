package render_test

import (
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

func TestLine_HasExactWidth(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		colours := render.NewTheme(colorprofile.TrueColor, true)
		colours.ASCII = ascii
		for w := range 40 {
			l := render.NewLine(colours, w)
			l.Skip(1).Put(explain.Err, "✗ 卷仍被挂载").CellRight(explain.Dim, "12", 5).Cell(explain.Text, "naïve", 3)
			l.Also(explain.Dim, "more").To(20).Right(explain.OK, "end")
			if got := ansi.StringWidth(l.String()); got != w {
				t.Errorf("ascii=%v: %d cells, not %d", ascii, got, w)
			}
		}
	}
}
