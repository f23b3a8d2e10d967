package verdict

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// precedence of the handler that stands for its object, first to last.
var precedence = []inspect.HandlerPhase{
	inspect.PhaseFailed, inspect.PhaseUnknown, inspect.PhaseRunning, inspect.PhaseRetrying, inspect.PhaseStopping, inspect.PhaseNext,
}

// decisive are the phases that explain a state, whatever else goes on: an object that is
// being retried may have a handler that has failed for good as well.
var decisive = map[inspect.ObjectState]inspect.HandlerPhase{
	inspect.StateRunning:  inspect.PhaseRunning,
	inspect.StateRetrying: inspect.PhaseRetrying,
	inspect.StateWaiting:  inspect.PhaseNext,
}

// Active is the handler that makes the object's state what it is: the one that failed,
// runs, or will be tried next. It is nil if the object is at rest.
func Active(o *inspect.Object) *inspect.HandlerState {
	var best *inspect.HandlerState
	rank := len(precedence)
	first, explained := decisive[o.State]
	for i := range o.Handlers {
		h := &o.Handlers[i]
		r := rankOf(h.State)
		if explained && h.State == first {
			r = -1
		}
		switch {
		case r > rank || r == len(precedence):
		case r < rank:
			best, rank = h, r
		case h.State == inspect.PhaseRetrying && sooner(h, best):
			best = h
		}
	}
	return best
}

// sooner tells which of two retries stands for the object: the next one, and of a parent
// and its child, which have the same time, the child, because its error is the cause.
func sooner(a, b *inspect.HandlerState) bool {
	if a.Parent == b.ID && b.Error == nil {
		return true
	}
	return a.Next.Before(b.Next) && a.Parent != b.ID
}

func rankOf(p inspect.HandlerPhase) int {
	for i, x := range precedence {
		if x == p {
			return i
		}
	}
	return len(precedence)
}

// Try is a handler's attempt and the limit, as "2/5" or "2"; empty before the first.
func Try(h *inspect.HandlerState) string {
	switch {
	case h.Attempt == 0:
		return ""
	case h.Limit == 0:
		return strconv.Itoa(h.Attempt)
	}
	return fmt.Sprintf("%d/%d", h.Attempt, h.Limit)
}

// Because is the reason of a cause, to follow "because": "spec.size changed 1Gi → 2Gi".
func Because(c *inspect.Cause) string {
	if c == nil {
		return ""
	}
	switch c.Reason {
	case "create":
		return "the object is new"
	case "delete":
		return "the object is being deleted"
	case "resume":
		return "the operator has started"
	}
	if len(c.Diff) == 0 {
		return ""
	}
	s := Change(c.Diff[0])
	if more := len(c.Diff) - 1; more > 0 {
		s += " and " + words.Count(more, "more change")
	}
	return s
}

// Change says one difference: "spec.size changed 1Gi → 2Gi".
func Change(d inspect.DiffItem) string {
	path := d.Path
	if path == "" {
		path = "the object"
	}
	switch d.Op {
	case "add":
		return path + " was added"
	case "remove":
		return path + " was removed"
	}
	return path + " changed " + Value(d.Old) + " → " + Value(d.New)
}

// Value is a field's value as short as it can be told.
func Value(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		if v == "" {
			return `""`
		}
		return v
	case bool, int64, float64, int:
		return fmt.Sprint(v)
	}
	b, err := json.Marshal(v)
	if err != nil { // decoded from JSON, so it can be encoded; but a screen must not fail
		return fmt.Sprint(v)
	}
	return string(b)
}

// sentence prepares a message to be followed by a period.
func sentence(message string) string {
	return strings.TrimRight(strings.TrimSpace(message), ".")
}

// list is an enumeration: "a", "a and b", "a, b and c".
func list(items []string) string {
	switch n := len(items); n {
	case 0:
		return ""
	case 1:
		return items[0]
	default:
		return strings.Join(items[:n-1], ", ") + " and " + items[n-1]
	}
}

func pick(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

func ids(o *inspect.Object, want func(*inspect.HandlerState) bool) []string {
	var found []string
	for i := range o.Handlers {
		if h := &o.Handlers[i]; want(h) {
			found = append(found, h.ID)
		}
	}
	return found
}
