package stream

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// objects remembers the last line about each object.
type objects struct {
	seen map[inspect.Ref]seen
	last *inspect.Snapshot
}

type seen struct {
	short   string
	key     string
	settled bool
	round   int
}

// entries returns the lines about new, changed and deleted objects. It only counts objects that are at rest when they
// are first seen, because there may be thousands.
func (x *objects) entries(s *runner.State, now time.Time) []entry {
	// The snapshot of an operator that has ended does not change.
	if s.Snapshot == nil || !s.Live || s.Snapshot == x.last {
		return nil
	}
	if x.seen == nil {
		x.seen = map[inspect.Ref]seen{}
	}
	x.last = s.Snapshot
	var entries []entry
	resting := 0
	round := int(s.Revision)
	for _, o := range s.Snapshot.Objects {
		key := keyOf(o)
		former, known := x.seen[o.Ref]
		x.seen[o.Ref] = seen{o.Short, key, o.State == inspect.StateSettled, round}
		switch {
		case known && former.key == key:
		case isResting(o) && !known:
			resting++
		case isResting(o) && former.settled: // unchanged since a previous process published the object
		default:
			entries = append(entries, objectEntry(o, now))
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.What, b.What) })
	if resting > 0 {
		entries = append(entries, entry{Noun: "object", State: "settled", tone: explain.OK, What: explain.Count(resting, "object") + " at rest, nothing to do"})
	}
	return append(entries, x.gone(s, round)...)
}

// gone returns the lines about deleted objects. It waits for the initial listing of an operator that has just
// started.
func (x *objects) gone(s *runner.State, round int) []entry {
	if !explain.AllListed(s.Snapshot) {
		return nil
	}
	var entries []entry
	for ref, was := range x.seen {
		if was.round != round {
			delete(x.seen, ref)
			word := explain.GoneWord(s, ref)
			entries = append(entries, entry{
				Noun: "object", State: word.Text, tone: word.Tone, What: was.short + " " + explain.QualifiedName(ref),
				Namespace: ref.Namespace, Name: ref.Name,
			})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.What, b.What) })
	return entries
}

// isResting reports whether the object is settled, and the current process of the operator did not have to handle it.
func isResting(o *inspect.Object) bool {
	return o.State == inspect.StateSettled && (o.Cause == nil || o.Cause.Done.IsZero())
}

// keyOf returns a key that changes with the state of an object, with its active handler and attempt, and with the end
// of its cause.
func keyOf(o *inspect.Object) string {
	key := string(o.State)
	if h := explain.Active(o); h != nil {
		key += fmt.Sprint(" ", h.ID, h.State, h.Attempt)
	}
	if o.Cause != nil && !o.Cause.Done.IsZero() {
		key += fmt.Sprint(" ", o.Cause.Reason, o.Cause.Done.UnixNano())
	}
	return key
}

func objectEntry(o *inspect.Object, now time.Time) entry {
	word := explain.WordOf(o)
	e := entry{
		Noun: "object", State: word.Text, tone: word.Tone, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
		What: o.Short + " " + explain.QualifiedName(o.Ref) + "  " + explain.Verdict(o, now, ""),
	}
	switch o.State {
	case inspect.StateFailed, inspect.StateStuck, inspect.StateRetrying:
		e.urgent = word.Tone != explain.Intended
	case inspect.StateSettled:
		if ran := succeeded(o); ran != "" {
			e.What = o.Short + " " + explain.QualifiedName(o.Ref) + "  " + ran
		}
	}
	if h := explain.Active(o); h != nil {
		e.Handler, e.Attempt, e.Next = h.ID, h.Attempt, h.Next
		if h.Error != nil {
			e.Error = h.Error.Message
		}
	}
	return e
}

// succeeded names the handlers that have handled a cause: "create: create in 24ms". It replaces the verdict, which
// would only state that nothing has changed since.
func succeeded(o *inspect.Object) string {
	if o.Cause == nil {
		return ""
	}
	var done []string
	for i := range o.Handlers {
		if h := &o.Handlers[i]; h.State == inspect.PhaseDone {
			done = append(done, strings.TrimSuffix(h.ID+" in "+explain.Took(h.Took), " in "))
		}
	}
	if len(done) == 0 {
		return ""
	}
	return explain.ReasonWord(o.Cause.Reason) + ": " + strings.Join(done, ", ")
}
