// Package lifecycle has the rules for choosing which handlers of an object are called next. A rule is set as
// Settings.Execution.Lifecycle. See [The order of handlers].
//
// [The order of handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#the-order-of-handlers
package lifecycle

import "github.com/kopf-dev/kopf/sdk/internal/handlers"

// A Func chooses which of the due handlers to call in this cycle, and in which order; the others
// wait for the next cycle. It gets at least one handler, in the order of registration, and must return at
// least one of them, each once; anything else is an error, and the object is throttled. It must be safe for
// concurrent use.
type Func func([]Due) []Due

// Due is a handler that is due: it is neither finished nor waiting for its delay to end.
type Due struct {
	ID    string
	Retry int // number of earlier attempts; 0 before the first
}

// ASAP calls one handler per cycle: the one with the fewest retries, so that a failing handler does not
// hold up the others. It is the default.
func ASAP(due []Due) []Due { return choose(due, handlers.ASAP) }

// AllAtOnce calls all due handlers in each cycle, in the order of registration.
func AllAtOnce(due []Due) []Due { return choose(due, handlers.AllAtOnce) }

// OneByOne calls one handler per cycle, in the order of registration.
func OneByOne(due []Due) []Due { return choose(due, handlers.OneByOne) }

// Randomized calls one randomly chosen handler per cycle.
func Randomized(due []Due) []Due { return choose(due, handlers.Randomized) }

// Shuffled calls all due handlers in each cycle, in random order.
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
