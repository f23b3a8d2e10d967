package tui

import (
	tea "charm.land/bubbletea/v2"
)

// key answers a key: the innermost thing that is open has the first say.
func (r *root) key(name, text string) tea.Cmd {
	if name == "ctrl+c" {
		return tea.Quit
	}
	switch {
	case r.overlay != nil:
		return r.overlay.key(name, text)
	case r.typing():
		r.typeKey(name, text)
		return nil
	case name == "esc":
		r.back()
		return nil
	}
	if d, ok := r.motion(name); ok {
		r.view().move(d)
		return nil
	}
	if r.object != nil {
		switch name {
		case "left":
			return turnTab(-1)(r)
		case "right":
			return turnTab(+1)(r)
		}
	}
	for _, a := range r.actions() {
		if a.key == name {
			return r.perform(a)
		}
	}
	return nil
}

// motion is by how many rows a key moves.
func (r *root) motion(name string) (d int, ok bool) {
	page := max(1, r.view().page())
	switch name {
	case "up", "k":
		return -1, true
	case "down", "j":
		return +1, true
	case "pgup", "ctrl+b":
		return -page, true
	case "pgdown", "space", "ctrl+f":
		return +page, true
	case "ctrl+u":
		return -page / 2, true
	case "ctrl+d":
		return +page / 2, true
	case "home", "g":
		return -far, true
	case "end", "G":
		return +far, true
	}
	return 0, false
}

// back leaves one thing, the innermost: a toast, an object, a filter, a view.
func (r *root) back() {
	f := r.view().search()
	switch {
	case r.toast.text != "":
		r.toast = toast{}
	case f != nil && f.text != "":
		f.text = ""
		r.view().changed()
	case r.object != nil:
		r.object = nil
	case r.resources.problems && r.current == viewResources:
		r.resources.problems = false
		r.resources.changed()
	case r.current == viewHandlers && r.handlers.decisions != nil:
		r.handlers.decisions = nil
	default:
		r.current = viewResources
	}
}

// typeKey is a key while a filter is being typed.
func (r *root) typeKey(name, text string) {
	f := r.view().search()
	switch name {
	case "enter":
		f.typing = false
	case "esc":
		*f = filter{}
		r.view().changed()
	case "up", "down", "pgup", "pgdown":
		if d, ok := r.motion(name); ok {
			r.view().move(d)
		}
	default:
		if f.edit(name, text) {
			r.view().changed()
		}
	}
}

// paste puts a text where one is typing.
func (r *root) paste(text string) tea.Cmd {
	switch {
	case r.overlay != nil:
		return r.overlay.key("", text)
	case r.typing():
		r.typeKey("", text)
	}
	return nil
}
