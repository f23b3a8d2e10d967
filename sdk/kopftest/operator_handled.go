package kopftest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
)

// WaitHandled waits until the operator has successfully handled the version of an object that the test wrote last, or
// found no handler for it. It returns the object's state in the inspector: the handlers with their attempts, and why
// some were not called. A permanent failure of a handler fails the test at once.
func (op *Operator) WaitHandled(o *Object) inspect.Object {
	op.cluster.t.Helper()
	return op.waitState(o, "it is handled", handled)
}

func handled(state *inspect.Object, until time.Time) (verdict, string) {
	switch state.State {
	case inspect.StateSettled, inspect.StateIgnored:
		return come, ""
	case inspect.StateFailed:
		return hopeless, failed(state)
	default:
		return tooLate(state, until)
	}
}

// WaitFailed waits until the operator has handled the version of an object that the test wrote last, and at least one
// handler has failed permanently. If all handlers succeed, the test fails at once.
func (op *Operator) WaitFailed(o *Object) inspect.Object {
	op.cluster.t.Helper()
	return op.waitState(o, "a handler has failed permanently", failedForGood)
}

func failedForGood(state *inspect.Object, until time.Time) (verdict, string) {
	switch {
	case state.State == inspect.StateSettled, state.State == inspect.StateIgnored:
		return hopeless, "it is " + string(state.State)
	case state.State == inspect.StateFailed && (state.Cause == nil || !state.Cause.Done.IsZero()): // reconcile handlers have no cause
		return come, ""
	default:
		return tooLate(state, until) // other handlers may continue
	}
}

// WaitRetrying waits until a handler of the object waits for its next attempt, no other handler runs, and the failed attempt
// is recorded on the object, so that a restarted operator continues with the next attempt. If the handling ends, the test
// fails at once.
func (op *Operator) WaitRetrying(o *Object) inspect.Object {
	op.cluster.t.Helper()
	state := op.waitState(o, "a handler is going to be retried", func(state *inspect.Object, _ time.Time) (verdict, string) {
		phases := map[inspect.HandlerPhase]int{}
		for _, h := range state.Handlers {
			phases[h.State]++
		}
		switch {
		case phases[inspect.PhaseRunning]+phases[inspect.PhaseNext] > 0 || state.Waiting != nil:
			return notYet, ""
		case phases[inspect.PhaseRetrying] > 0:
			return come, ""
		case state.State == inspect.StateSettled, state.State == inspect.StateFailed, state.State == inspect.StateIgnored:
			return hopeless, "it is " + string(state.State)
		default:
			return notYet, ""
		}
	})
	for _, h := range state.Handlers {
		if h.State == inspect.PhaseRetrying && !accompanies(h) {
			o.WaitFor("the attempt of "+h.ID+" is recorded", func(object *kopf.Object) bool {
				return op.recorded(&state, h, object)
			})
		}
	}
	return state
}

// recorded reports whether an object has the record of the handler's last attempt in the state, or of a later attempt.
func (op *Operator) recorded(state *inspect.Object, h inspect.HandlerState, object *kopf.Object) bool {
	op.cluster.t.Helper()
	progress := op.settings.Load().Persistence.ProgressStorage
	if progress == nil {
		progress = op.defaultProgress()
	}
	record, err := progress.Fetch(op.cluster.t.Context(), object, h.ID)
	if err != nil {
		op.cluster.t.Fatalf("kopftest: the progress of %s: %v", h.ID, err)
	}
	if record == nil {
		return before(state.ResourceVersion, kopf.GetOr(object, "metadata.resourceVersion", ""))
	}
	return record.Retries >= h.Attempt
}

// defaultProgress returns the progress storage of an operator whose settings have no storage.
func (op *Operator) defaultProgress() kopf.ProgressStorage {
	if op.registry != nil && op.registry.Prefix != "" {
		return storage.Annotations(storage.AnnotationNames{Prefix: op.registry.Prefix})
	}
	return storage.Smart(storage.AnnotationNames{}, storage.StatusFields{})
}

// failed returns a message with the permanently failed handler and its error; without one, with the object's state.
func failed(state *inspect.Object) string {
	for _, h := range state.Handlers {
		if h.State == inspect.PhaseFailed && h.Error != nil {
			return fmt.Sprintf("%s has failed permanently: %s", h.ID, h.Error.Message)
		}
	}
	return "it is " + string(state.State)
}

// tooLate returns the verdict hopeless if the next attempt of a handler comes after the end of the wait.
func tooLate(state *inspect.Object, until time.Time) (verdict, string) {
	for _, h := range state.Handlers {
		if h.State != inspect.PhaseRetrying || h.Error == nil || !h.Next.After(until) || accompanies(h) {
			continue
		}
		why := fmt.Sprintf("%s has failed, and is tried again later than the test waits (in %s): %s",
			h.ID, roughly(time.Until(h.Next)), h.Error.Message)
		if h.Error.Kind == inspect.ErrorArbitrary || h.Error.Kind == inspect.ErrorPanic {
			why += "\nafter errors that name no delay, the delay is Settings.Execution.DefaultRetryDelay: see Run"
		}
		return hopeless, why
	}
	return notYet, ""
}

// accompanies reports whether a handler is a daemon or a timer, for whose end no method waits.
func accompanies(h inspect.HandlerState) bool {
	return h.Kind == inspect.KindDaemon || h.Kind == inspect.KindTimer
}

// verdict is the result of judging an object's state: keep waiting, return, or fail.
type verdict int

const (
	notYet   verdict = iota
	come             // the object has the expected state
	hopeless         // the object will not get the expected state without a change
)

// waitState waits until judge accepts the state of the object. Judge also gets the deadline of the wait, and returns
// the reason with the verdict hopeless.
func (op *Operator) waitState(o *Object, what string, judge func(*inspect.Object, time.Time) (verdict, string)) inspect.Object {
	c := op.cluster
	c.t.Helper()
	if err := op.inspectable(); err != nil {
		c.t.Fatalf("kopftest: %s: waited until %s: look into the operator: %v", o, what, err)
	}
	state, failure := op.followState(o, judge)
	if failure != "" {
		c.t.Fatalf("kopftest: %s: waited until %s%s\n%s", o, what, failure, c.report(o))
	}
	return state
}

// followState waits until judge accepts the state of the object. It returns the state, or the reason of a failure. It does not fail
// the test itself, because t.Helper has no effect in the body of a range over an iterator, so that the failure would be reported for
// a line of this package.
func (op *Operator) followState(o *Object, judge func(*inspect.Object, time.Time) (verdict, string)) (_ inspect.Object, failure string) {
	ctx, cancel := op.cluster.context()
	defer cancel()
	until, _ := ctx.Deadline()
	for snapshot, err := range op.inspector.Stream(ctx) {
		if err != nil {
			return inspect.Object{}, fmt.Sprintf(": %v", waitError(ctx, err))
		}
		if why := outside(snapshot, o); why != "" {
			return inspect.Object{}, ", but " + why
		}
		state := find(snapshot, o)
		if state == nil || before(state.ResourceVersion, o.version) {
			continue
		}
		switch v, why := judge(state, until); v {
		case come:
			return *state, ""
		case hopeless:
			return inspect.Object{}, ", but " + why
		}
	}
	return inspect.Object{}, ", but the operator ended"
}

// outside returns the reason if the operator never sees the object, because it does not serve the object's namespace. It
// returns an empty string for a served namespace.
func outside(snapshot *inspect.Snapshot, o *Object) string {
	if snapshot == nil {
		return ""
	}
	served := snapshot.Operator.Namespaces
	if o.Namespace == "" || len(served) == 0 {
		return ""
	}
	var patterns []resources.NamespacePattern
	for _, pattern := range served {
		patterns = append(patterns, resources.ParseNamespacePattern(pattern))
	}
	if resources.MatchAnyNamespace(patterns, o.Namespace) {
		return ""
	}
	return fmt.Sprintf("the operator does not serve its namespace %s, only %s; leave the namespace out of the manifest, or add it to the operator's Namespaces: see Run",
		o.Namespace, strings.Join(served, ", "))
}

// find returns an object of the snapshot; nil if the operator does not know the object.
func find(snapshot *inspect.Snapshot, o *Object) *inspect.Object {
	if snapshot == nil {
		return nil
	}
	for _, known := range snapshot.Objects {
		if known.Resource == o.resource.Key() && known.Namespace == o.Namespace && known.Name == o.Name {
			return known
		}
	}
	return nil
}

// before reports whether a version of an object is older than another version. Versions are increasing numbers.
func before(a, b string) bool {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	return errX == nil && errY == nil && x < y
}
