package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/parts"
)

// wheelRows is the number of rows that one step of the mouse wheel scrolls.
const wheelRows = 3

func (a *app) wheel(button tea.MouseButton) {
	if a.dialog != nil {
		return
	}
	switch button {
	case tea.MouseWheelUp:
		a.page().Move(-wheelRows)
	case tea.MouseWheelDown:
		a.page().Move(+wheelRows)
	}
}

// click selects the row, tab or choice at a place, or opens it if it is already selected.
func (a *app) click(x, y int) tea.Cmd {
	if a.dialog != nil {
		a.dialog = nil
		return nil
	}
	key := a.screen.Clicks.KeyAt(x, y)
	if key == "" && a.page().Click(x, y-a.topHeight()) {
		key = "enter"
	}
	if a.typing() {
		a.page().Filter().Keep()
	}
	return a.perform(parts.Find(a.actions(), key))
}
