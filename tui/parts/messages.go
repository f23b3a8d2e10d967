package parts

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// The messages are what actions and dialogs ask the app to do.
type (
	// OpenObject opens the page of an object.
	OpenObject struct {
		Ref inspect.Ref
		Tab ObjectTab
	}

	// Back leaves the innermost thing that is open.
	Back struct{}

	// Request sends an intent to the session. What is its text in the toast.
	Request struct {
		What   string
		Intent runner.Intent
	}

	// Copy copies a text to the clipboard.
	Copy struct{ Text string }

	// Edit opens the user's editor at a line of a file; 0 is no line.
	Edit struct {
		File string
		Line int
	}

	// Notify shows a text in the toast.
	Notify struct{ Text string }

	// CloseDialog closes the dialog, and then does what a message asks for, if any.
	CloseDialog struct{ Then tea.Msg }

	// Perform performs an action, or shows why it is unavailable.
	Perform struct{ Action *Action }
)

// ObjectTab is a tab of the page of an object.
type ObjectTab int

// The tabs.
const (
	HandlersTab ObjectTab = iota
	WhyTab
	LogTab
	ObjectTabs // the number of tabs
)

// Key returns the key that opens the tab.
func (t ObjectTab) Key() string { return [ObjectTabs]string{"h", "w", "l"}[t] }

// String returns the title of the tab.
func (t ObjectTab) String() string { return [ObjectTabs]string{"Handlers", "Why", "Log"}[t] }
