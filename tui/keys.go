package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/parts"
)

// pressKey handles a key. Terminals send the same bytes for alt with a key and for escape followed by a key. The
// workbench does not use alt, so it reads them as escape.
func (a *app) pressKey(msg tea.KeyPressMsg) tea.Cmd {
	if msg.Mod == tea.ModAlt {
		escape := tea.KeyPressMsg{Code: tea.KeyEscape}
		return tea.Batch(a.key(escape), a.key(tea.KeyPressMsg{Code: msg.Code, Text: string(msg.Code)}))
	}
	return a.key(msg)
}

// key passes a key to the topmost open part of the screen: the dialog, the filter, or the page.
func (a *app) key(msg tea.KeyPressMsg) tea.Cmd {
	name := msg.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case a.dialog != nil:
		return a.do(a.dialog.Update(msg, a.offered()))
	case a.typing():
		a.typeKey(msg)
		return nil
	case name == "esc":
		a.back()
		return nil
	}
	if rows, ok := parts.Motion(msg, a.page().PageRows()); ok {
		a.page().Move(rows)
		return nil
	}
	action := parts.Find(a.actions(), name)
	if action == nil {
		a.toast.Refusal(a.screen.Now, "no action on "+name+"; ? shows all keys")
		return nil
	}
	return a.perform(action)
}

// typing reports whether keys go to a filter.
func (a *app) typing() bool {
	f := a.page().Filter()
	return f != nil && f.Typing()
}

// typeKey passes a key to the filter.
func (a *app) typeKey(msg tea.KeyPressMsg) {
	f := a.page().Filter()
	switch msg.String() {
	case "enter":
		f.Keep()
	case "esc":
		f.Clear()
		a.page().Refresh()
	case "up", "down", "pgup", "pgdown":
		rows, _ := parts.Motion(msg, a.page().PageRows())
		a.page().Move(rows)
	default:
		if f.Update(msg) {
			a.page().Refresh()
		}
	}
}

// paste inserts a pasted text into the open dialog or filter.
func (a *app) paste(msg tea.PasteMsg) tea.Cmd {
	switch {
	case a.dialog != nil:
		return a.do(a.dialog.Update(msg, a.offered()))
	case a.typing() && a.page().Filter().Update(msg):
		a.page().Refresh()
	}
	return nil
}
