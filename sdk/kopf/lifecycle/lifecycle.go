// Package lifecycle has functions that choose which handlers of an object are called next. Set one of them as
// Settings.Execution.Lifecycle. See [The order of handlers].
//
// [The order of handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#the-order-of-handlers
package lifecycle

import "github.com/kopf-dev/kopf/sdk/internal/handlers"

// A Func chooses which due handlers to call in this cycle, and in which order. The other due handlers wait for the next
// cycle. The argument has at least one handler, in the order of registration. The result must have at least one of these
// handlers, and none twice; otherwise the cycle fails, and the operator retries it after a delay. A Func must be safe for
// concurrent use.
type Func func([]Due) []Due

// Due is a handler that is due: it is neither finished nor waiting for its delay to end.
type Due struct {
	ID    string
	Retry int // number of earlier attempts; 0 before the first
}

// ASAP calls one handler per cycle: the handler with the fewest retries, so that a failing handler does not delay the other
// handlers. It is the default.
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
