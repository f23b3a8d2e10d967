package handlers

import (
	"math/rand/v2"
	"slices"
)

// Due is a handler that is due.
type Due struct {
	ID      string
	Retries int // the attempts made so far
}

// Func chooses from the handlers that are due, given in the order of registration. It
// returns those to be called now in the order of the calls: a part of what it was given,
// which it may reorder.
type Lifecycle func(due []Due) []Due

// ASAP calls one handler in a cycle, the first of those with the fewest attempts: a
// handler that fails does not hold up the others. It is the default.
func ASAP(due []Due) []Due {
	if len(due) == 0 {
		return nil
	}
	first := slices.MinFunc(due, func(a, b Due) int { return a.Retries - b.Retries })
	return []Due{first}
}

// AllAtOnce calls all handlers in a cycle, in the order of registration.
func AllAtOnce(due []Due) []Due { return due }

// OneByOne calls one handler in a cycle, in the order of registration.
func OneByOne(due []Due) []Due { return due[:min(1, len(due))] }

// Randomized calls one handler in a cycle, any of them.
func Randomized(due []Due) []Due {
	if len(due) == 0 {
		return nil
	}
	at := rand.IntN(len(due))
	return due[at : at+1]
}

// Shuffled calls all handlers in a cycle, in random order.
func Shuffled(due []Due) []Due {
	rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	return due
}
