package tui

import (
	"regexp"
	"strings"
	"testing"
)

func TestHelp_ShowsTheKeysOfTheOpenDialog(t *testing.T) {
	u := start(t, "normal", 120, 40).press("j", "j", "j", "j", "j")
	help := func() string {
		lines := u.lines()
		return strings.TrimSpace(lines[len(lines)-1])
	}
	for keys, want := range map[string]string{
		"D": "esc keep  y delete", "t": "enter apply  tab annotations  esc leave", ":": "↑ ↓ choose  enter run  esc close",
		"?": "↑ ↓ scroll  esc close", "/": "enter keep  esc clear",
	} {
		u.press(keys)
		if got := help(); got != want {
			t.Errorf("%s: %q instead of %q", keys, got, want)
		}
		u.press("esc")
		if got := help(); !strings.HasPrefix(got, "enter open") {
			t.Errorf("after %s: %q", keys, got)
		}
	}
	u.press("enter", "?").sees("keys in an object")
}

func TestDialog_IsVisibleInTheSmallestTerminal(t *testing.T) {
	start(t, "normal", 20, 3).press("j", "j", "j", "j", "j", "D").sees("Delete").sees("keep").press("esc").seesNot("keep")
}

func TestKeySheet_SaysThatThereIsMore(t *testing.T) {
	more := regexp.MustCompile(`↓ \d+ more`)
	u := start(t, "normal", 40, 10).press("?")
	if !more.MatchString(strings.Join(u.lines(), "\n")) {
		t.Errorf("it does not say that there is more:\n%s", strings.Join(u.lines(), "\n"))
	}
	for range 100 {
		u.press("down")
	}
	if more.MatchString(strings.Join(u.lines(), "\n")) {
		t.Errorf("at its end, it says that there is more:\n%s", strings.Join(u.lines(), "\n"))
	}
}
