package explain

import (
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// tally has counts of objects. It is updated by the difference of single objects, so that the cost of a change does
// not depend on the number of all objects.
type tally struct {
	Counts  [Urgencies]int // number of objects by urgency
	Owned   int            // the number of objects that name an owner
	Parents int            // the number of objects with counted children
	Unsure  int            // the number of objects with a step that has perhaps happened
	Former  int            // the number of objects that an earlier operator has failed to handle

	started time.Time // start of the operator

	failures map[string]int     // the number of failed objects by handler id; the empty id counts all of them
	running  map[string]int     // the number of objects that a handler is running for, by handler id
	slots    map[string]slots   // calls of handlers whose calls are limited, by handler id
	kept     map[string]keptOut // objects that filters exclude, by handler id
	kinds    map[string]int     // the number of objects by the key of their resource

	names, namespaces lengths

	counted int // number of objects counted to prepare the state, for tests
}

func newTally(started time.Time) tally {
	return tally{started: started, failures: map[string]int{}, running: map[string]int{}, slots: map[string]slots{}, kept: map[string]keptOut{}, kinds: map[string]int{}}
}

func (t *tally) clone() tally {
	c := *t
	c.failures, c.running, c.kept, c.kinds = maps.Clone(t.failures), maps.Clone(t.running), maps.Clone(t.kept), maps.Clone(t.kinds)
	c.slots = maps.Clone(t.slots)
	c.counted = 0
	return c
}

// add counts an object; by is 1, or -1 to take it out.
func (t *tally) add(o *inspect.Object, by int) {
	t.counted++
	t.names.add(utf8.RuneCountInString(o.Name), by)
	t.namespaces.add(utf8.RuneCountInString(o.Namespace), by)
	t.Counts[UrgencyOf(o)] += by
	if len(o.Owners) > 0 {
		t.Owned += by
	}
	if o.Children != nil {
		t.Parents += by
	}
	addTo(t.kinds, o.Resource, by)
	failed, unsure := false, false
	for i := range o.Handlers {
		h := &o.Handlers[i]
		unsure = unsure || slices.ContainsFunc(h.Steps, isUnsure)
		if isRunning(h) {
			addTo(t.running, h.ID, by)
		}
		if h.State == inspect.PhaseFailed {
			addTo(t.failures, h.ID, by)
			failed = true
		}
		t.addSlots(h, by)
		t.addFilter(o, h, by)
	}
	if unsure {
		t.Unsure += by
	}
	if failed {
		addTo(t.failures, "", by)
		if o.State == inspect.StateFailed && settlement.FailedBefore(o, t.started) {
			t.Former += by
		}
	}
}

// addTo adds to a number in a map. It deletes a number that becomes 0.
func addTo(counts map[string]int, key string, by int) {
	if n := counts[key] + by; n != 0 {
		counts[key] = n
	} else {
		delete(counts, key)
	}
}

// Failures returns the number of objects for which a handler has failed permanently; if the id is
// empty, the number of objects for which any handler has.
func (t *tally) Failures(handler string) int { return t.failures[handler] }

// longestLength is the greatest distinguished length; longer texts count as this length. Names have at most 253
// characters.
const longestLength = 253

// lengths counts texts by their length.
type lengths [longestLength + 1]int32

func (l *lengths) add(length, by int) { l[min(length, longestLength)] += int32(by) } //nolint:gosec // by is 1 or -1

// longest returns the length of the longest text.
func (l *lengths) longest() int {
	for n := longestLength; n > 0; n-- {
		if l[n] > 0 {
			return n
		}
	}
	return 0
}

// retries has two of the handlers that are being retried: next has the earliest next retry, and oldest has been retried for the longest
// time. A HandlerState is nil without such a handler.
type retries struct{ next, oldest BackgroundTask }

// add compares the handlers of an object with the present two.
func (r *retries) add(o *inspect.Object) {
	if IsPaused(o) {
		return
	}
	for i := range o.Handlers {
		h := &o.Handlers[i]
		if h.State == inspect.PhaseRetrying && h.Parent == "" && !h.Started.IsZero() && (r.oldest.HandlerState == nil || h.Started.Before(r.oldest.Started)) {
			r.oldest = BackgroundTask{o, h}
		}
	}
	if o.State != inspect.StateRetrying {
		return
	}
	if h := Active(o); h != nil && !h.Next.IsZero() && (r.next.HandlerState == nil || h.Next.Before(r.next.Next)) {
		r.next = BackgroundTask{o, h}
	}
}

// has reports whether one of the two handlers belongs to an object.
func (r *retries) has(o *inspect.Object) bool { return r.next.Object == o || r.oldest.Object == o }
