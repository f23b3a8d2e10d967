package render_test

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/tui/render"
)

func TestColumns_FittedGetsRoomFirst(t *testing.T) {
	columns := func() []render.Column {
		return []render.Column{{Title: "STATE", Width: 6}, {Title: "A-RATHER-LONG-NAME", Width: 6, Fit: 18}, {Title: "WHAT", Width: 6, Grow: 1, Drop: 1}}
	}
	for w, want := range map[int]string{
		25: "  STATE   A-RAT…  WHAT",
		34: "  STATE   A-RATHER-LONG-…  WHAT",
		40: "  STATE   A-RATHER-LONG-NAME  WHAT",
	} {
		p := render.NewBlock(render.PlainTheme(), w, 1)
		(&render.Table{Columns: columns()}).Draw(p, new(render.List))
		if got := strings.TrimRight(p.Lines()[0], " "); got != want {
			t.Errorf("in %d cells:\n got %q\nwant %q", w, got, want)
		}
	}
}

func TestColumns_DropByPriorityAndShareTheRest(t *testing.T) {
	columns := func() []render.Column {
		return []render.Column{{Title: "STATE", Width: 6}, {Title: "NAME", Width: 6, Grow: 1, Max: 10}, {Title: "WHAT", Width: 6, Grow: 1, Drop: 1}, {Title: "AGE", Width: 3, Drop: 2}}
	}
	for w, want := range map[int]string{
		12: "  STATE   N…",
		20: "  STATE   NAME",
		25: "  STATE   NAME    WHAT",
		30: "  STATE   NAME    WHAT    AGE",
		40: "  STATE   NAME        WHAT          AGE",
	} {
		p := render.NewBlock(render.PlainTheme(), w, 1)
		(&render.Table{Columns: columns()}).Draw(p, new(render.List))
		if got := strings.TrimRight(p.Lines()[0], " "); got != want {
			t.Errorf("in %d cells:\n got %q\nwant %q", w, got, want)
		}
	}
}
