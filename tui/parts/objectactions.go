package parts

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/model"
)

// The actions on an object are the same wherever an object is selected.

// NoObject is why actions on an object are unavailable if none is selected.
const NoObject = "no object is selected"

// Retry returns the action that retries the handlers of an object now. The object is nil if
// none is selected.
func Retry(s *Screen, o *inspect.Object, gone bool) Action {
	return Action{
		Binding: Key("r", "retry now"), Name: "retry now", Column: Act, Unavailable: noRetry(s, o, gone),
		Do: func() tea.Msg {
			ref := o.Ref
			return Request{"retrying " + ref.Name, runner.Intent{Kind: runner.IntentRetry, Object: &ref}}
		},
	}
}

func noRetry(s *Screen, o *inspect.Object, gone bool) string {
	if o == nil {
		return NoObject
	}
	if why := s.State.NotOperating(); why != "" {
		return why
	}
	if gone {
		return o.Name + " is gone"
	}
	for i := range o.Handlers {
		if o.Handlers[i].State == inspect.PhaseRetrying {
			return ""
		}
	}
	return "nothing to retry: " + o.Name + " is " + model.ObjectWord(o.State).Text
}

// CopyName returns the action that copies the name of an object. The object is nil if none
// is selected.
func CopyName(o *inspect.Object) Action {
	a := Action{Binding: Key("c", ""), Name: "copy the name", Column: Look}
	if o == nil {
		a.Unavailable = NoObject
		return a
	}
	a.Do = func() tea.Msg { return Copy{model.QualifiedName(o.Ref)} }
	return a
}
