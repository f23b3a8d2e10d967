package handlers

import (
	"math/rand/v2"
	"slices"
)

// Due is a handler that is due.
type Due struct {
	ID      string
	Retries int // number of attempts so far
}

// Lifecycle chooses the handlers to call in this cycle. It gets the handlers that are due in the
// order of registration, and returns some of them in the order of the calls. It may modify its
// argument.
type Lifecycle func(due []Due) []Due

// ASAP chooses one handler per cycle: the first of those with the fewest attempts, so that a
// failing handler does not hold up the others. It is the default.
func ASAP(due []Due) []Due {
	if len(due) == 0 {
		return nil
	}
	first := slices.MinFunc(due, func(a, b Due) int { return a.Retries - b.Retries })
	return []Due{first}
}

// AllAtOnce chooses all handlers, in the order of registration.
func AllAtOnce(due []Due) []Due { return due }

// OneByOne chooses one handler per cycle, in the order of registration.
func OneByOne(due []Due) []Due { return due[:min(1, len(due))] }

// Randomized chooses one handler per cycle at random.
func Randomized(due []Due) []Due {
	if len(due) == 0 {
		return nil
	}
	at := rand.IntN(len(due))
	return due[at : at+1]
}

// Shuffled chooses all handlers, in random order.
func Shuffled(due []Due) []Due {
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	return due
}
