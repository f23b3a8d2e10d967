package render_test

import (
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/render"
)

func TestLine_HasExactWidth(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		colours := render.NewTheme(colorprofile.TrueColor, true)
		colours.ASCII = ascii
		for w := range 40 {
			l := render.NewLine(colours, w)
			l.Skip(1).Put(model.Err, "✗ 卷仍被挂载").CellRight(model.Dim, "12", 5).Cell(model.Text, "naïve", 3)
			l.Also(model.Dim, "more").To(20).Right(model.OK, "end")
			if got := ansi.StringWidth(l.String()); got != w {
				t.Errorf("ascii=%v: %d cells, not %d", ascii, got, w)
			}
		}
	}
}
