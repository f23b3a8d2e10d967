package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestKeys_AltIsTakenForEscape(t *testing.T) {
	u := start(t, "normal", 80, 24).press("w")
	u.send(tea.KeyPressMsg{Code: '2', Mod: tea.ModAlt})
	u.sees("7 handlers")
}

func TestKeys_UnknownOneIsAnswered(t *testing.T) {
	u := start(t, "normal", 80, 24)
	for _, page := range []string{"1", "2", "3", "4", "5", "7", "8", "9", "0", "1"} {
		u.press(page, "x").sees("– no action on x; ? shows all keys")
	}
	u.press("enter", "Z").sees("– no action on Z; ? shows all keys")
	u.press("esc").seesNot("no action") // esc takes the notice away first, and then leaves the object
	u.press("esc", "/", "x").seesNot("no action")
}

func TestPaste_GoesWhereTheUserTypes(t *testing.T) {
	u := start(t, "normal", 80, 24).press("/")
	u.send(tea.PasteMsg{Content: "web-ca\nche\x1b"})
	u.sees("/web-cache").sees("1 of 11").press("backspace", "backspace").sees("/web-cac").press("ctrl+u").sees("11 of 11")
	u.press("esc").press(":")
	u.send(tea.PasteMsg{Content: "rebuild"})
	u.press("enter").sees("✓ rebuilding")
	u.send(tea.PasteMsg{Content: "q"}) // the user does not type
	if u.quit {
		t.Fatal("a text was taken for keys")
	}
}
