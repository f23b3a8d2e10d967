package render_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/tui/render"
)

func TestCut_KeepsWhatDistinguishesTexts(t *testing.T) {
	for _, test := range []struct {
		cut        func(string, int) string
		text, want string
		w          int
	}{
		{render.CutEnd, "a long sentence", "a long…", 7},
		{render.CutEnd, "short", "short", 7},
		{render.CutEnd, "gone", "", 0},
		{render.CutMiddle, "tmp-build-cache-7d4f9c", "tmp-build…d4f9c", 15},
		{render.CutMiddle, "tmp-build", "tmp…", 4},
		{render.CutStart, "/home/me/claims/handlers", "…ms/handlers", 12},
		{render.CutEnd, "卷仍被挂载", "卷仍…", 6},
		{render.CutEnd, "卷仍被挂载", "卷…", 4},
	} {
		got := test.cut(test.text, test.w)
		if got != test.want || render.Width(got) > test.w {
			t.Errorf("%q in %d cells is %q, not %q", test.text, test.w, got, test.want)
		}
	}
}

func TestClean_RemovesWhatMovesTheCursor(t *testing.T) {
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
		if got := render.Clean(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

func TestWrap_BreaksAtWordsAndCutsTheEnd(t *testing.T) {
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
		if diff := cmp.Diff(test.want, render.Wrap(test.text, test.w, test.n)); diff != "" {
			t.Errorf("%q in %d cells (-want +got):\n%s", test.text, test.w, diff)
		}
	}
}
