package main

import (
	"strings"
	"testing"
)

func TestTypeKeys_AreAlwaysTheSameAndOfAllKinds(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = numberedFully(i)
	}
	keys, again := typeKeys(names, 14, 600), typeKeys(names, 14, 600)
	if len(keys) < 600 || len(keys) != len(again) {
		t.Fatalf("there are %d keys, and then %d", len(keys), len(again))
	}
	left := map[string]bool{}
	for _, kind := range keyKinds {
		left[kind] = true
	}
	for i, k := range keys {
		if k.text != again[i].text {
			t.Fatalf("key %d is %q, and then %q", i, k.text, again[i].text)
		}
		delete(left, k.kind)
	}
	if len(left) > 0 {
		t.Errorf("there are no keys of the kinds %v", left)
	}
}

// A change of another object does not count as the answer to a key.
func TestCursorOn_IsOnlyShownByTheCursor(t *testing.T) {
	s := newScreen(terminalWidth, terminalHeight)
	write := func(text string) {
		if _, err := s.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("\x1b[5;1H  STATE       KIND  NAMESPACE  NAME" + "\x1b[6;1H▌ ✓ settled   kex   workbench  example-00001" + "\x1b[7;1H  ✓ settled   kex   workbench  example-00002")
	if !cursorOn("example-00001")(s) || cursorOn("example-00002")(s) {
		t.Errorf("the cursor is elsewhere:\n%s", s)
	}
	if n := listRows(s); n != 2 {
		t.Errorf("there are %d rows", n)
	}
	write("\x1b[7;3H▸ running")
	if cursorOn("example-00002")(s) {
		t.Error("a changed row counts as the cursor's")
	}
	write("\x1b[6;1H \x1b[7;1H▌")
	if !cursorOn("example-00002")(s) {
		t.Errorf("the cursor has not moved:\n%s", strings.TrimSpace(s.String()))
	}
}
