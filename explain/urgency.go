package explain

import "github.com/kopf-dev/kopf/sdk/inspect"

// Urgency groups objects by how much they need the user.
type Urgency int

// The urgencies, the most urgent first.
const (
	NeedsYou Urgency = iota
	IsRetrying
	IsBusy
	AtRest
	Urgencies // the number of urgencies
)

var urgencyWords = [Urgencies]Word{
	NeedsYou:   {"✗", "need you", Err},
	IsRetrying: {"↻", "retrying", Warn},
	IsBusy:     {"▸", "busy", Busy},
	AtRest:     {"✓", "at rest", OK},
}

// Word returns the word for a group of objects.
func (u Urgency) Word() Word { return urgencyWords[u] }

// UrgencyOf returns the urgency of an object. One whose handlers only wait for something is busy.
func UrgencyOf(o *inspect.Object) Urgency {
	if onlyWaits(o) {
		return IsBusy
	}
	switch o.State {
	case inspect.StateFailed, inspect.StateStuck:
		return NeedsYou
	case inspect.StateRetrying:
		return IsRetrying
	case inspect.StateRunning, inspect.StateWaiting, inspect.StateDeleting:
		return IsBusy
	}
	return AtRest
}

// IsProblem reports whether an object needs the user: it has failed or is stuck. Retries continue without the user.
func IsProblem(o *inspect.Object) bool { return UrgencyOf(o) == NeedsYou }
