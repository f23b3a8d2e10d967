package tui

import "testing"

func TestHandlers_OpenObjectsAndBack(t *testing.T) {
	start(t, "normal", 80, 24).
		press("2", "j", "j").cursorOn("relabel").
		sees("Never ran").
		press("enter").sees("relabel on 4 objects").
		sees("annotation kopf").
		press("enter").sees("Handlers  Why  Log").
		press("esc").sees("relabel on 4 objects").
		press("esc").sees("7 handlers").
		press("esc").sees("11 objects")
}
