package render_test

import (
	"testing"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

func TestSparkline_RelativeToTheLargest(t *testing.T) {
	for _, test := range []struct {
		values []float64
		w      int
		want   string
	}{
		{nil, 5, ""},
		{[]float64{0, 0}, 5, "··"},
		{[]float64{0, 1, 4, 8}, 4, "·▂▅█"},
		{[]float64{0.001, 1000}, 2, "▁█"},
		{[]float64{1, 8, 0, 0, 4, 1}, 3, "█·▅"},
		{[]float64{1}, 0, ""},
	} {
		if got := render.Sparkline(test.values, test.w); got != test.want {
			t.Errorf("%v in %d cells: %q, not %q", test.values, test.w, got, test.want)
		}
	}
	theme := render.PlainTheme()
	theme.ASCII = true
	if got := render.NewLine(theme, 4).Put(explain.Text, "·▁▄█").String(); got != ".148" {
		t.Errorf("without UTF-8: %q", got)
	}
}
