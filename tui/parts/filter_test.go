package parts

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/tui/render"
)

func typed(f *Filter, text string) {
	for _, r := range text {
		f.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func TestFilter_IsEditedWithKeys(t *testing.T) {
	control := func(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Mod: tea.ModCtrl} }
	for name, test := range map[string]struct {
		keys []tea.Msg
		want string
	}{
		"nothing":    {nil, "web Cache"},
		"backspace":  {[]tea.Msg{tea.KeyPressMsg{Code: tea.KeyBackspace}, control('h')}, "web Cac"},
		"ctrl+w":     {[]tea.Msg{control('w')}, "web "},
		"ctrl+u":     {[]tea.Msg{control('u')}, ""},
		"left":       {[]tea.Msg{tea.KeyPressMsg{Code: tea.KeyLeft}, tea.KeyPressMsg{Code: 'x', Text: "x"}}, "web Cachxe"},
		"paste":      {[]tea.Msg{tea.PasteMsg{Content: "\n1\x1b2"}}, "web Cache12"},
		"other keys": {[]tea.Msg{control('v'), tea.KeyPressMsg{Code: tea.KeyF1}}, "web Cache"},
	} {
		f := NewFilter()
		f.Type()
		typed(&f, "web Cache")
		for _, msg := range test.keys {
			f.Update(msg)
		}
		if f.Text() != test.want {
			t.Errorf("%s: %q, not %q", name, f.Text(), test.want)
		}
	}
}

func TestFilter_TakesKeysOnlyWhileTyping(t *testing.T) {
	f := NewFilter()
	typed(&f, "web")
	if f.Text() != "" || f.Visible() {
		t.Errorf("has %q", f.Text())
	}
	f.Type()
	typed(&f, "Web Data")
	f.Keep()
	typed(&f, "more")
	if diff := cmp.Diff([]string{"web", "data"}, f.Words()); diff != "" || f.Typing() || !f.Visible() {
		t.Error(diff)
	}
	if f.Clear(); f.Visible() {
		t.Errorf("has %q", f.Text())
	}
}

func TestFilter_LongTextScrollsToTheCursor(t *testing.T) {
	s := &Screen{Theme: render.PlainTheme()}
	f := NewFilter()
	f.Type()
	typed(&f, strings.Repeat("x", 50)+"end")
	for width := range 60 {
		l := s.Line(width)
		f.Draw(s, l)
		line := ansi.Strip(l.String())
		if ansi.StringWidth(line) != width || width > 5 && !strings.Contains(line, "end") {
			t.Errorf("in %d cells it is %q", width, line)
		}
	}
}

func TestMatches_EachWordInAnyText(t *testing.T) {
	for _, test := range []struct {
		words string
		want  bool
	}{
		{"", true}, {"web", true}, {"web failed", true}, {"eb fai", true}, {"web done", false},
	} {
		if got := Matches(strings.Fields(test.words), "default/web-cache", "failed"); got != test.want {
			t.Errorf("%q: %v", test.words, got)
		}
	}
}
