package parts

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// The actions on an object are the same wherever an object is selected.

// NoObject is the reason why actions on an object are unavailable while no object is selected.
const NoObject = "no object is selected"

// Retry returns the action that immediately calls the handlers of an object that wait for a retry or failed
// permanently, and the reconcile handler. The object is nil if none is selected.
func Retry(s *Screen, o *inspect.Object, gone bool) Action {
	name, what := "retry now", "retrying "
	if o != nil && !slices.ContainsFunc(o.Handlers, isRetriable) && slices.ContainsFunc(o.Handlers, hasPasses) {
		name, what = "pass now", "another pass over the children of "
	}
	return Action{
		Binding: Key("r", name), Name: name, Column: Act, Unavailable: noRetry(s, o, "", gone),
		Do: func() tea.Msg {
			ref := o.Ref
			return Request{what + ref.Name, runner.Intent{Kind: runner.IntentRetry, Object: &ref}}
		},
	}
}

// isRetriable reports whether a handler waits for a retry or failed permanently.
func isRetriable(h inspect.HandlerState) bool {
	return h.State == inspect.PhaseRetrying || h.State == inspect.PhaseFailed
}

// hasPasses reports whether a handler can have another pass at any time.
func hasPasses(h inspect.HandlerState) bool {
	return h.Kind == inspect.KindReconcile && !explain.IsNotCalled(&h)
}

// RetryHandler returns the action that calls only one handler of an object now. The object is nil
// if none is selected.
func RetryHandler(s *Screen, o *inspect.Object, handler string, gone bool) Action {
	return Action{
		Binding: Key("T", ""), Name: "retry this handler only", Column: Act, Unavailable: noRetry(s, o, handler, gone),
		Do: func() tea.Msg {
			ref := o.Ref
			intent := runner.Intent{Kind: runner.IntentRetry, Object: &ref, Handler: handler}
			return Request{"retrying " + s.State.ShortName(handler) + " of " + ref.Name, intent}
		},
	}
}

// RetryFailed returns the action that calls failed handlers of all objects again: all handlers, or only the
// handler with the id.
func RetryFailed(s *Screen, handler string) Action {
	a := Action{
		Binding: Key("A", ""), Name: "retry all failed", Column: Act, Unavailable: noFailures(s, handler),
		Do: func() tea.Msg {
			n := s.State.Failures(handler)
			return Request{"retrying " + explain.Count(n, "object"), runner.Intent{Kind: runner.IntentRetryFailed, Handler: handler}}
		},
	}
	if handler != "" {
		a.Binding, a.Name = Key("T", ""), "retry where this handler failed"
	}
	return a
}

func noFailures(s *Screen, handler string) string {
	if why := s.State.NotOperating(); why != "" {
		return why
	}
	switch {
	case s.State.Failures(handler) > 0:
		return ""
	case handler != "":
		return s.State.ShortName(handler) + " has not failed"
	}
	return "nothing has failed"
}

func noRetry(s *Screen, o *inspect.Object, handler string, gone bool) string {
	if o == nil {
		return NoObject
	}
	if why := s.State.NotOperating(); why != "" {
		return why
	}
	if gone {
		return o.Name + " is gone"
	}
	if reason, paused := s.State.Paused(); paused {
		return "the operator is paused " + reason
	}
	if explain.IsPaused(o) {
		return o.Name + " is paused: H resumes it"
	}
	for i := range o.Handlers {
		h := &o.Handlers[i]
		if (handler == "" || h.ID == handler) && (isRetriable(*h) || hasPasses(*h)) {
			return ""
		}
	}
	if handler != "" {
		return s.State.ShortName(handler) + " neither failed nor waits for a retry"
	}
	return "nothing to retry: " + o.Name + " is " + explain.WordOf(o).Text
}

// PauseObject returns the action that pauses an object, or resumes it. The object is nil if none is selected.
func PauseObject(s *Screen, o *inspect.Object, gone bool) Action {
	a := Action{Binding: Key("H", ""), Name: "hold, or let go", Column: Act, Unavailable: s.State.NotOperating()}
	switch {
	case o == nil:
		a.Unavailable = NoObject
	case gone:
		a.Unavailable = o.Name + " is gone"
	}
	a.Do = func() tea.Msg {
		ref := o.Ref
		if o.Paused != nil {
			return Request{"let " + ref.Name + " go", runner.Intent{Kind: runner.IntentPauseObject, Object: &ref}}
		}
		return Request{"holding " + ref.Name, runner.Intent{Kind: runner.IntentPauseObject, Object: &ref, Value: "held in the workbench"}}
	}
	return a
}

// CopyName returns the action that copies the name of an object. The object is nil if none
// is selected.
func CopyName(o *inspect.Object) Action {
	a := Action{Binding: Key("c", ""), Name: "copy the name", Column: Look}
	if o == nil {
		a.Unavailable = NoObject
		return a
	}
	a.Do = func() tea.Msg { return Copy{Text: explain.QualifiedName(o.Ref)} }
	return a
}
