package observe

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
)

// maxHistory is the number of earlier causes that are kept for each object.
const maxHistory = 8

// dispatched shows the decisions about event handlers, before their calls.
func (o *shown) dispatched(e EventDispatched) {
	for _, d := range e.Handlers.Explain(handlers.Watching, e.Cause) {
		s := o.decided(d.Handler, e.Handlers)
		showDecision(&s, d, e.Subject.Secrets)
		if i := o.place(d.Handler); i >= 0 {
			o.Handlers[i] = s
		} else {
			o.Handlers = append(o.Handlers, s)
		}
	}
}

// planned shows the cause and the decisions about all handlers. A paused object has neither.
func (o *shown) planned(e Planned) {
	o.ResourceVersion, o.Owners, o.Paused = e.Subject.Object.ResourceVersion, ownersOf(e.Subject.Object), nil
	switch {
	case e.Paused:
		o.Paused = &inspect.ObjectPause{Reason: e.Subject.Secrets.Text(e.Reason)}
	case e.Cause != nil:
		o.showCause(e)
	}
	o.showPass(e.PassDue, e.Subject.Object.Deleting)
}

// showPass shows that the reconcile handler has yet to handle the version. Otherwise, the object would still look settled or failed by
// the outcome of the previous pass, although its version is the new one. An object that is being deleted has no more passes; the outcome of
// its last pass stays visible.
func (o *shown) showPass(due, deleting bool) {
	for i := range o.Handlers {
		switch s := &o.Handlers[i]; {
		case groupOf(*s) != handlers.Reconciling:
		case due && s.State != inspect.PhaseRunning:
			s.State, s.Error, s.Next = inspect.PhaseNext, nil, time.Time{}
		case deleting && (s.State == inspect.PhaseNext || s.State == inspect.PhaseRetrying):
			s.State, s.Why, s.Error, s.Next, s.Slot = inspect.PhaseFiltered, endedByDeletion(), nil, time.Time{}, false
		}
	}
}

// endedByDeletion returns the reason why a handler is not called for an object that is being deleted.
func endedByDeletion() *inspect.Mismatch {
	return &inspect.Mismatch{Kind: inspect.MismatchDeleted, Path: "metadata.deletionTimestamp", Is: "present", Wants: "absent"}
}

// ownersOf returns the owner references of an object; nil if the object cannot be decoded.
func ownersOf(o *object.Object) []inspect.Owner {
	if !bytes.Contains(o.Raw, []byte(`"ownerReferences"`)) {
		return nil // avoids decoding, because most objects have no owners
	}
	tree, err := o.Tree()
	if err != nil {
		return nil
	}
	references, _ := object.Metadata(tree)["ownerReferences"].([]any)
	var owners []inspect.Owner
	for _, r := range references {
		if r, ok := r.(map[string]any); ok {
			owner := inspect.Owner{}
			owner.Kind, _ = r["kind"].(string)
			owner.Name, _ = r["name"].(string)
			owner.UID, _ = r["uid"].(string)
			owner.Controller, _ = r["controller"].(bool)
			owners = append(owners, owner)
		}
	}
	return owners
}

func (o *shown) showCause(e Planned) {
	o.Finalizer = e.Finalizer
	switch {
	case !e.Changing:
		o.Cause = nil
	case e.Cause.Reason.Handled() && !e.resumesNothing():
		o.begin(e)
	case o.Cause == nil || o.Cause.Done.IsZero():
		// The object has not changed since the operator started, or the change was undone before it was handled.
		o.replaceCause(idleCause(e))
	default:
		// Keep showing the last handled cause.
		o.showSteps(e) // a person may have removed the start of a step
		o.showBackground(e)
		return
	}
	o.decide(e)
	o.showFailures(e)
	o.showSteps(e)
	o.showBackground(e)
}

// idleCause returns the cause of an object without a change to handle. If its handlers failed permanently, it is the cause
// of the failures.
func idleCause(e Planned) *inspect.Cause {
	cause := &inspect.Cause{
		Reason: inspect.ReasonNoop, Seen: e.At, Version: e.Subject.Object.ResourceVersion, Done: e.At,
	}
	for i := range e.Failures {
		if f := &e.Failures[i]; i == 0 || f.Stopped.After(cause.Done) {
			cause.Reason, cause.Seen, cause.Done = inspect.Reason(f.Purpose), f.Started, f.Stopped
		}
	}
	return cause
}

// showFailures shows the failures that are recorded on the object, unless the handled change makes them obsolete.
func (o *shown) showFailures(e Planned) {
	called := e.Again
	if called == nil {
		for _, h := range e.Handlers.Selected(handlers.Changing, e.Cause) {
			called = append(called, h.ID)
		}
		if e.Cause.Reason != handlers.ReasonResume && len(called) > 0 {
			return
		}
	}
	for i := range e.Failures {
		f := &e.Failures[i]
		if slices.Contains(called, f.Top()) {
			continue
		}
		at := o.index(f.Handler)
		if parent := o.index(f.Parent); at < 0 && f.Parent != "" && parent >= 0 {
			at = parent + 1
			o.insert(at, inspect.HandlerState{ID: f.Handler, Kind: inspect.HandlerKind(handlers.Sub), Parent: f.Parent})
		}
		if at < 0 {
			continue
		}
		s := &o.Handlers[at]
		if kind := inspect.HandlerKind(f.Purpose); slices.Contains(s.Kinds, kind) {
			s.Kind = kind
		}
		s.State, s.Why, s.Next = inspect.PhaseFailed, nil, time.Time{}
		s.Started, s.Attempt = f.Started, f.Retries
		if s.Error == nil {
			s.Error = &inspect.HandlerError{Kind: inspect.ErrorKind(handlers.KindPermanent), Message: e.Subject.Secrets.Text(f.Message)}
		}
	}
}

// resumesNothing reports whether the object equals its diff base, and no resume handler matches it.
func (e *Planned) resumesNothing() bool {
	return e.Cause.Reason == handlers.ReasonResume && len(e.Handlers.Selected(handlers.Changing, e.Cause)) == 0
}

// begin makes the cause the current cause, unless it continues the current cause.
func (o *shown) begin(e Planned) {
	reason, version := inspect.Reason(e.Cause.Reason), e.Subject.Object.ResourceVersion
	before := o.Cause
	if before != nil && before.Done.IsZero() && before.Reason == reason {
		continued := *before
		continued.Version, continued.Diff = version, diffItems(e)
		o.Cause = &continued
		return
	}
	o.replaceCause(&inspect.Cause{
		Reason: reason, Seen: e.At, Version: version, First: e.Cause.Old == nil, Diff: diffItems(e),
	})
}

// replaceCause sets the current cause, and moves the previous cause into the history.
func (o *shown) replaceCause(cause *inspect.Cause) {
	if before := o.Cause; before != nil {
		cause.LastHandled = before.LastHandled
		if before.Done.IsZero() {
			o.remember(before, cause.Version)
		} else if handlers.Reason(before.Reason).Handled() {
			cause.LastHandled = before.Done
			o.remember(before, "")
		}
	}
	o.Cause = cause
	o.Handlers = slices.DeleteFunc(o.Handlers, func(h inspect.HandlerState) bool { return h.Kind == inspect.KindSub })
	for i, h := range o.Handlers {
		if groupOf(h) == handlers.Changing {
			// The outcome of the previous cause is in the history, and must not look like a failure of the current cause.
			o.Handlers[i] = inspect.HandlerState{ID: h.ID, Kind: h.Kind, Kinds: h.Kinds}
		}
	}
}

// remember moves a cause into the history.
func (o *shown) remember(cause *inspect.Cause, supersededAt string) {
	past := inspect.PastCause{Reason: cause.Reason, At: cause.Seen, SupersededAt: supersededAt}
	for _, h := range o.Handlers {
		if len(h.Attempts) == 0 || groupOf(h) != handlers.Changing {
			continue
		}
		past.Handlers = append(past.Handlers, h.ID)
		if h.State == inspect.PhaseFailed {
			past.Failed = append(past.Failed, h.ID)
		}
	}
	if !cause.Done.IsZero() {
		past.Took = inspect.Duration(cause.Done.Sub(cause.Seen))
	}
	history := append([]inspect.PastCause{past}, o.History...)
	o.History = history[:min(len(history), maxHistory)]
}

// decide lists all handlers with the decision about each: selected change handlers come first, with their
// sub-handlers, and handlers that do not depend on the cause come last.
func (o *shown) decide(e Planned) {
	var selected, others []inspect.HandlerState
	decisions := e.Handlers.Explain(handlers.Changing, e.Cause)
	decisions = append(decisions, e.Handlers.Explain(handlers.Watching, e.Cause)...)
	decisions = append(decisions, e.Handlers.Explain(handlers.Reconciling, e.Cause)...)
	for _, d := range decisions {
		s := o.decided(d.Handler, e.Handlers)
		showDecision(&s, d, e.Subject.Secrets)
		if e.Again != nil && s.State == inspect.PhaseNext && d.Handler.Family.Group() == handlers.Changing && !slices.Contains(e.Again, s.ID) {
			s.State = inspect.PhaseDone // the handler succeeded before other handlers failed
		}
		if !d.Selected || d.Handler.Family.Group() != handlers.Changing {
			others = append(others, s)
			continue
		}
		selected = append(selected, s)
		selected = append(selected, o.subHandlersOf(s.ID)...)
	}
	rest := slices.DeleteFunc(o.Handlers, func(h inspect.HandlerState) bool {
		return groupOf(h) != handlers.Spawning && groupOf(h) != handlers.Indexing
	})
	o.Handlers = slices.Concat(selected, others, rest)
}

func (o *shown) subHandlersOf(id string) []inspect.HandlerState {
	var subs []inspect.HandlerState
	for _, h := range o.Handlers {
		if h.Kind == inspect.KindSub && strings.HasPrefix(h.ID, id+"/") {
			subs = append(subs, h)
		}
	}
	return subs
}

// showDecision shows whether a handler is called; if not, the reason.
func showDecision(s *inspect.HandlerState, d handlers.Decision, secrets *redact.Secrets) {
	s.Limit, s.Why, s.Slot = 0, nil, false // who still waits for a slot is reported next
	if d.Handler.Retries != nil {
		s.Limit = *d.Handler.Retries
	}
	showMaxDelay(s, d.Handler)
	if !d.Selected {
		s.Why, s.State = showMismatch(secrets.Mismatch(d.Why)), inspect.PhaseFiltered
		if d.Why.Kind == handlers.MismatchReason {
			s.State = inspect.PhaseOtherCause
		}
		return
	}
	switch s.State {
	case inspect.PhaseDone, inspect.PhaseFailed, inspect.PhaseRetrying:
		// The outcome of the handler's last attempt stays visible.
	default:
		s.State = inspect.PhaseNext
	}
}

func showMismatch(why handlers.Mismatch) *inspect.Mismatch {
	return &inspect.Mismatch{Kind: inspect.MismatchKind(why.Kind), Path: why.Path, Is: why.Is, Wants: why.Wants, Absent: why.Absent}
}

// diffItems converts the differences for the inspector. It returns nil for a new object, where everything is new.
func diffItems(e Planned) []inspect.DiffItem {
	if e.Cause.Old == nil {
		return nil
	}
	items := make([]inspect.DiffItem, len(e.Cause.Diff))
	for i, item := range e.Subject.Secrets.Diff(e.Cause.Diff) {
		items[i] = inspect.DiffItem{Op: inspect.DiffOp(item.Op), Path: item.Path.String(), Old: item.Old, New: item.New}
	}
	return items
}
