package tui

import (
	tea "charm.land/bubbletea/v2"
)

// action is something that can be done with a key. There is one table of them, and
// whatever tells or does anything about keys reads it: the keyboard, the help line, the
// palette, and the sheet of keys.
type action struct {
	key   string
	name  string // in the palette and on the sheet
	short string // in the help line; empty if it is not worth the room
	place place  // where it means something
	group group

	// whyNot tells why it is not possible now; empty if it is. Impossible actions
	// are shown with the reason rather than hidden, so that one learns when they are.
	whyNot func(*root) string

	do func(*root) tea.Cmd
}

// place is where on the screen an action means something.
type place int

const (
	inResources place = 1 << iota
	inObject
	inHandlers
	inDecisions // the objects of a handler
	inLog
	inBuild
	inCluster
	inStart // the list of objects, while there are none

	everywhere = inResources | inObject | inHandlers | inDecisions | inLog | inBuild | inCluster | inStart
	onObject   = inResources | inObject // where an object is selected
)

// group is a column on the sheet of keys.
type group int

const (
	goes group = iota
	looks
	acts
	groups
)

var groupNames = [groups]string{"go", "look", "act"}

func (r *root) place() place {
	if r.object != nil {
		return inObject
	}
	switch r.current {
	case viewHandlers:
		if r.handlers.decisions != nil {
			return inDecisions
		}
		return inHandlers
	case viewLog:
		return inLog
	case viewBuild:
		return inBuild
	case viewCluster:
		return inCluster
	}
	if len(r.common.world.objects) == 0 {
		return inStart
	}
	return inResources
}

// actions are those that mean something here, in the order of the table.
func (r *root) actions() []*action {
	here := r.place()
	var found []*action
	for i := range table {
		if table[i].place&here != 0 {
			found = append(found, &table[i])
		}
	}
	return found
}

// possible tells why an action is not possible, or nothing.
func (r *root) whyNot(a *action) string {
	if a.whyNot == nil {
		return ""
	}
	return a.whyNot(r)
}

// perform does an action, or says why it does not.
func (r *root) perform(a *action) tea.Cmd {
	if why := r.whyNot(a); why != "" {
		r.toast.hint(r.common.now, a.name+": "+why)
		return nil
	}
	return a.do(r)
}
