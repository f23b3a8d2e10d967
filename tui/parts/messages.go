package parts

import (
	"context"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// The messages are requests of actions and dialogs to the app.
type (
	// OpenObject opens the page of an object.
	OpenObject struct {
		Ref inspect.Ref
		Tab ObjectTab
	}

	// Back closes the innermost open part of the screen.
	Back struct{}

	// Request sends an intent to the session. The toast shows the text What.
	Request struct {
		What   string
		Intent runner.Intent
	}

	// Copy copies a text to the clipboard. What names the text in the toast; by default, the toast shows the text
	// itself.
	Copy struct{ Text, What string }

	// Change changes an object in the cluster itself. The toast shows the text What.
	Change struct {
		What string
		Do   func(context.Context, runner.Objects) error
	}

	// EditObject opens an object in the user's editor. If Sample is set, it opens a new object, with the object as the
	// template.
	EditObject struct {
		Ref    inspect.Ref
		Sample bool
	}

	// CreateObject asks for the template of a new object, and opens it in the user's editor. Like is an object to
	// copy from, or nil.
	CreateObject struct{ Like *inspect.Object }

	// ConfirmDelete asks whether to delete an object.
	ConfirmDelete struct{ Object *inspect.Object }

	// Ask opens a dialog.
	Ask struct{ Dialog Dialog }

	// Save writes lines to a new file. What names the lines in the toast.
	Save struct {
		What  string
		Lines []string
	}

	// Edit opens a file in the user's editor, at a line; line 0 means no particular line.
	Edit struct {
		File string
		Line int
	}

	// Notify shows a text in the toast.
	Notify struct{ Text string }

	// CloseDialog closes the dialog, and then handles the message Then, if any.
	CloseDialog struct{ Then tea.Msg }

	// Perform performs an action, or shows why it is unavailable.
	Perform struct{ Action *Action }
)

// Dialog is drawn above the page, and receives all keys while it is open. The argument actions has the actions that are
// possible without the dialog.
type Dialog interface {
	Update(msg tea.Msg, actions []Action) tea.Msg
	View(s *Screen, actions []Action) string

	// Keys returns the keys of the dialog, for the help line. The keys of the page have no effect while the dialog is open.
	Keys() []key.Binding
}

// ObjectTab is a tab of the page of an object.
type ObjectTab int

// The tabs.
const (
	HandlersTab ObjectTab = iota
	WhyTab
	ChildrenTab
	YAMLTab
	EventsTab
	LogTab
	ObjectTabs // the number of tabs
)

// Key returns the key that opens the tab.
func (t ObjectTab) Key() string { return [ObjectTabs]string{"h", "w", "o", "y", "v", "l"}[t] }

// String returns the title of the tab.
func (t ObjectTab) String() string {
	return [ObjectTabs]string{"Handlers", "Why", "Children", "YAML", "Events", "Log"}[t]
}
