package canvas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

func TestTextsAreCutWhereTheyMatterLeast(t *testing.T) {
	for _, test := range []struct {
		cut        func(string, int) string
		text, want string
		w          int
	}{
		{canvas.CutEnd, "a long sentence", "a long…", 7},
		{canvas.CutEnd, "short", "short", 7},
		{canvas.CutEnd, "gone", "", 0},
		{canvas.CutMiddle, "tmp-build-cache-7d4f9c", "tmp-build…d4f9c", 15},
		{canvas.CutMiddle, "tmp-build", "tmp…", 4},
		{canvas.CutStart, "/home/me/claims/handlers", "…ms/handlers", 12},
		{canvas.CutEnd, "卷仍被挂载", "卷仍…", 6},
		{canvas.CutEnd, "卷仍被挂载", "卷…", 4},
	} {
		got := test.cut(test.text, test.w)
		if got != test.want || canvas.Width(got) > test.w {
			t.Errorf("%q in %d cells is %q, not %q", test.text, test.w, got, test.want)
		}
	}
}

func TestNoTextReachesTheTerminalThatMovesItsCursor(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                       "plain",
		"größe":                       "größe",
		"two\nlines\tand a tab":       "two lines and a tab",
		"\x1b[2Jclear\x1b]0;title\a!": "clear!",
		"bell\a null\x00 del\x7f":     "bell null del",
		"\u202eevil\u202c":            "evil",
		"bad \xff\xfe bytes":          "bad ? bytes",
		"c1 \u009b31m":                "c1 31m",
	} {
		if got := canvas.Clean(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

func TestProseIsWrappedAtWordsAndCutAtTheEnd(t *testing.T) {
	for _, test := range []struct {
		text string
		w, n int
		want []string
	}{
		{"one two three four", 9, 4, []string{"one two", "three", "four"}},
		{"one two three four", 9, 2, []string{"one two", "three fo…"}},
		{"one", 9, 0, nil},
		{"", 9, 3, nil},
		{"averylongwordthatdoesnotfit", 10, 3, []string{"averylongw", "ordthatdoe", "snotfit"}},
		{"卷仍", 1, 3, nil},
	} {
		if diff := cmp.Diff(test.want, canvas.Wrap(test.text, test.w, test.n)); diff != "" {
			t.Errorf("%q in %d cells (-want +got):\n%s", test.text, test.w, diff)
		}
	}
}

func TestALineHasItsWidthWhateverIsPutOnIt(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		colours := theme.New(colorprofile.TrueColor, true)
		colours.ASCII = ascii
		for w := range 40 {
			l := canvas.NewLine(colours, w)
			l.Skip(1).Put(theme.Err, "✗ 卷仍被挂载").CellRight(theme.Dim, "12", 5).Cell(theme.Text, "naïve", 3)
			l.Also(theme.Dim, "more").To(20).Right(theme.OK, "end")
			if got := ansi.StringWidth(l.String()); got != w {
				t.Errorf("ascii=%v: %d cells, not %d", ascii, got, w)
			}
		}
	}
}

func TestABoxLiesOnWideRunesWithoutMovingThem(t *testing.T) {
	for x := range 10 {
		frame := []string{"卷仍被挂载卷仍被挂载"}
		canvas.Over(frame, []string{"[box]"}, x, 0)
		if got := ansi.StringWidth(frame[0]); got != 20 || !strings.Contains(frame[0], "[box]") {
			t.Errorf("at %d it is %d cells wide: %q", x, got, ansi.Strip(frame[0]))
		}
	}
}

func TestATableAsksForNoMoreThanItShows(t *testing.T) {
	asked := map[int]bool{}
	table := canvas.Table{
		Columns: []canvas.Column{{Title: "A", Width: 5}},
		Rows:    1_000_000,
		Cell: func(row, _ int) canvas.Cell {
			asked[row] = true
			return canvas.Cell{Text: fmt.Sprint(row)}
		},
	}
	p := canvas.NewPane(theme.Plain(), 20, 11)
	list := canvas.List{Cursor: 500_000}
	table.Draw(p, &list)
	if len(asked) != 10 || !asked[500_000] {
		t.Errorf("asked for %d rows: %v", len(asked), asked)
	}
}

func TestColumnsGoByPriorityAndTheRestIsShared(t *testing.T) {
	columns := func() []canvas.Column {
		return []canvas.Column{{Title: "STATE", Width: 6}, {Title: "NAME", Width: 6, Grow: 1, Max: 10}, {Title: "WHAT", Width: 6, Grow: 1, Drop: 1}, {Title: "AGE", Width: 3, Drop: 2}}
	}
	for w, want := range map[int]string{
		12: "  STATE   N…",
		20: "  STATE   NAME",
		25: "  STATE   NAME    WHAT",
		30: "  STATE   NAME    WHAT    AGE",
		40: "  STATE   NAME        WHAT          AGE",
	} {
		p := canvas.NewPane(theme.Plain(), w, 1)
		(&canvas.Table{Columns: columns()}).Draw(p, new(canvas.List))
		if got := strings.TrimRight(p.Lines()[0], " "); got != want {
			t.Errorf("in %d cells:\n got %q\nwant %q", w, got, want)
		}
	}
}

func TestAListScrollsNoFurtherThanItMust(t *testing.T) {
	var l canvas.List
	for _, step := range []struct{ d, n, h, cursor, offset int }{
		{+3, 100, 10, 3, 0}, {+4, 100, 10, 7, 0}, {+1, 100, 10, 8, 1}, {-1, 100, 10, 7, 1}, {+1000, 100, 10, 99, 90}, {-1000, 100, 10, 0, 0}, {0, 0, 10, 0, 0},
	} {
		l.Move(step.d, step.n)
		l.Fit(step.n, step.h)
		if l.Cursor != step.cursor || l.Offset != step.offset {
			t.Errorf("by %d of %d: cursor %d, offset %d", step.d, step.n, l.Cursor, l.Offset)
		}
	}
}
