package kopf

import "github.com/kopf-dev/kopf/sdk/internal/handlers"

// A Lifecycle chooses which of the due handlers to call in this cycle, and in which order; the others
// wait for the next cycle. It is set as Settings.Execution.Lifecycle and defaults to [ASAP]. It gets at
// least one handler, in the order of registration, and must return at least one of them, each once;
// anything else is an error, and the object is throttled. It must be safe for concurrent use.
type Lifecycle func([]Due) []Due

// Due is a handler that is due: it is neither finished nor waiting for its delay to end.
type Due struct {
	ID    string
	Retry int // number of earlier attempts; 0 before the first
}

// ASAP is a [Lifecycle] that calls one handler per cycle: the one with the fewest retries, so that a
// failing handler does not hold up the others. It is the default.
func ASAP(due []Due) []Due { return choose(due, handlers.ASAP) }

// AllAtOnce is a [Lifecycle] that calls all due handlers in each cycle, in the order of registration.
func AllAtOnce(due []Due) []Due { return choose(due, handlers.AllAtOnce) }

// OneByOne is a [Lifecycle] that calls one handler per cycle, in the order of registration.
func OneByOne(due []Due) []Due { return choose(due, handlers.OneByOne) }

// Randomized is a [Lifecycle] that calls one randomly chosen handler per cycle.
func Randomized(due []Due) []Due { return choose(due, handlers.Randomized) }

// Shuffled is a [Lifecycle] that calls all due handlers in each cycle, in random order.
func Shuffled(due []Due) []Due { return choose(due, handlers.Shuffled) }

func choose(due []Due, by handlers.Lifecycle) []Due {
	all := make([]handlers.Due, len(due))
	for i, d := range due {
		all[i] = handlers.Due{ID: d.ID, Retries: d.Retry}
	}
	chosen := by(all)
	out := make([]Due, len(chosen))
	for i, d := range chosen {
		out[i] = Due{ID: d.ID, Retry: d.Retries}
	}
	return out
}

func (l Lifecycle) engine() handlers.Lifecycle {
	if l == nil {
		return handlers.ASAP
	}
	return func(due []handlers.Due) []handlers.Due {
		public := make([]Due, len(due))
		for i, d := range due {
			public[i] = Due{ID: d.ID, Retry: d.Retries}
		}
		chosen := l(public)
		out := make([]handlers.Due, len(chosen))
		for i, d := range chosen {
			out[i] = handlers.Due{ID: d.ID, Retries: d.Retry}
		}
		return out
	}
}
