package tui

import (
	"testing"

	tea "charm.land/bubbletea/v2"
)

func TestMouse_SelectsOpensAndScrolls(t *testing.T) {
	u := start(t, "normal", 80, 24).click(20, 7).cursorOn("ml-train").click(20, 7).sees("default/ml-train  ✓ settled")
	u.click(56, 3).sees("All handled 5m ago (create)") // the tab "Why"
	u.click(17, 1).sees("7 handlers")
	u.click(70, 0).sees("kubeconfig")
	u.click(2, 1).sees("11 objects")
	u.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	u.send(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	u.cursorOn("tmp-build") // six rows further
}
