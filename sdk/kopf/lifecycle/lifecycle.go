// Package lifecycle has choices of which handlers to run in a cycle, to be set as
// Settings.Execution.Lifecycle. All are safe for concurrent use. See the chapter
// "Configuration" of Kopf's documentation.
package lifecycle

import (
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// ASAP runs one handler in a cycle, that with the fewest retries, so that a handler that
// fails does not hold up the others. It is the default.
func ASAP(due []kopf.Due) []kopf.Due { return choose(due, handlers.ASAP) }

// AllAtOnce runs all handlers in the order of registration.
func AllAtOnce(due []kopf.Due) []kopf.Due { return choose(due, handlers.AllAtOnce) }

// OneByOne runs one handler in a cycle, in the order of registration.
func OneByOne(due []kopf.Due) []kopf.Due { return choose(due, handlers.OneByOne) }

// Randomized runs one handler in a cycle, any.
func Randomized(due []kopf.Due) []kopf.Due { return choose(due, handlers.Randomized) }

// Shuffled runs all handlers in a random order.
func Shuffled(due []kopf.Due) []kopf.Due { return choose(due, handlers.Shuffled) }

func choose(due []kopf.Due, by handlers.Lifecycle) []kopf.Due {
	all := make([]handlers.Due, len(due))
	for i, d := range due {
		all[i] = handlers.Due{ID: d.ID, Retries: d.Retry}
	}
	chosen := by(all)
	out := make([]kopf.Due, len(chosen))
	for i, d := range chosen {
		out[i] = kopf.Due{ID: d.ID, Retry: d.Retries}
	}
	return out
}

var (
	_ kopf.Lifecycle = ASAP
	_ kopf.Lifecycle = AllAtOnce
	_ kopf.Lifecycle = OneByOne
	_ kopf.Lifecycle = Randomized
	_ kopf.Lifecycle = Shuffled
)
