package tui

import (
	tea "charm.land/bubbletea/v2"
)

// wheelRows is how far one notch of the wheel moves.
const wheelRows = 3

func (r *root) wheel(button tea.MouseButton) {
	d := wheelRows
	switch button {
	case tea.MouseWheelUp:
		d = -wheelRows
	case tea.MouseWheelDown:
	default:
		return
	}
	if r.overlay != nil {
		return
	}
	r.view().move(d)
}

// click selects what is at a place, or opens what was selected already.
func (r *root) click(x, y int) tea.Cmd {
	if r.overlay != nil {
		r.overlay = nil
		return nil
	}
	if key := r.common.zones.at(x, y); key != "" {
		return r.key(key, "")
	}
	if again := r.view().click(x, y-r.bodyTop()); again {
		return r.key("enter", "")
	}
	return nil
}
