package parts

import (
	"slices"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Action is the action of a key. The keyboard, the help line, the palette and the key sheet all read the same
// actions.
type Action struct {
	Binding key.Binding // key of the action; if its help text is empty, the help line omits the action
	Name    string      // name in the palette and on the key sheet
	Column  Column

	// Unavailable is the reason why the action is not possible now; empty if it is possible. Unavailable
	// actions are shown with the reason rather than hidden.
	Unavailable string

	// Everywhere makes the palette offer the action on other pages, too. Performing the action there opens the action's page
	// first, unless InPlace is set.
	Everywhere, InPlace bool

	// Do performs the action on its page. It returns a message for the app, or nil.
	Do func() tea.Msg
}

// Column is a column on the key sheet.
type Column int

// The columns.
const (
	Go Column = iota
	Look
	Act
	columns
)

var columnTitles = [columns]string{"go", "look", "act"}

// Key returns a binding of a key, with its text in the help line.
func Key(name, help string, aliases ...string) key.Binding {
	return key.NewBinding(key.WithKeys(append([]string{name}, aliases...)...), key.WithHelp(name, help))
}

// Key returns the name of the action's key.
func (a *Action) Key() string { return a.Binding.Help().Key }

// Find returns the action of a key, or nil.
func Find(actions []Action, name string) *Action {
	for i := range actions {
		if slices.Contains(actions[i].Binding.Keys(), name) {
			return &actions[i]
		}
	}
	return nil
}

// switchesPage reports whether the action opens a numbered page.
func (a *Action) switchesPage() bool {
	k := a.Key()
	return len(k) == 1 && strings.Contains("0123456789"+string(PlanPage), k)
}
