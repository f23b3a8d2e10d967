package parts

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/tui/render"
)

func TestHelp_MarksUnavailableKeysAndTakesClicks(t *testing.T) {
	actions := []Action{
		{Binding: Key("enter", "open")},
		{Binding: Key("h", "")},
		{Binding: Key("r", "retry now"), Unavailable: "nothing to retry"},
		{Binding: Key("a", "apply")},
	}
	for width, want := range map[int]string{
		80: " enter open (r retry now) a apply                    : commands  ? keys  q quit",
		60: " enter open (r retry now)        : commands  ? keys  q quit",
		30: " enter open           :  ?  q",
	} {
		s := &Screen{Theme: render.PlainTheme(), Width: width, Height: 1}
		b := s.Block(width, 1)
		DrawHelp(s, b, actions)
		line := b.Lines()[0]
		if got := strings.TrimRight(line, " "); got != want {
			t.Errorf("in %d cells:\n got %q\nwant %q", width, got, want)
		}
		for text, key := range map[string]string{"enter open": "enter", "r retry": "r", "q": "q"} {
			if x := strings.LastIndex(line, text); x >= 0 && s.Clicks.KeyAt(x, 0) != key {
				t.Errorf("in %d cells a click on %q is %q", width, text, s.Clicks.KeyAt(x, 0))
			}
		}
	}
}
