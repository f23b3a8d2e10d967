package tui

import (
	"slices"
	"testing"
	"time"
)

func TestRequests_AskedOnceASecondWhileVisible(t *testing.T) {
	u := start(t, "normal", 80, 24)
	if u.wait(time.Second); len(u.source.asked) != 0 {
		t.Error("asked although the page is not visible")
	}
	u.press("0").sees("38 a minute · 1,638 requests · ✗ 10 failed · ↻ 7 repeated").press("j", "j")
	u.wait(500 * time.Millisecond)
	if !slices.Equal(u.source.asked, []string{"requests"}) {
		t.Error(u.source.asked)
	}
	u.wait(500 * time.Millisecond)
	if len(u.source.asked) != 2 {
		t.Error(u.source.asked)
	}
}

func TestRequests_ErrorsAndOrder(t *testing.T) {
	u := start(t, "normal", 100, 30).press("0").cursorOn("discovery").press("G").cursorOn("none").sees("connection refused")
	u.press("k").cursorOn("403").sees(`User "claims" cannot list resource "pods"`)
	u.press("s").sees("ordered by count").cursorOn("403").press("g").cursorOn("1,204")
	u.press("/").write("code:409").press("enter").cursorOn("409").sees("7 of 7, after an attempt that failed").press("esc", "esc").sees("discovery")
}
