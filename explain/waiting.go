package explain

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// waitingWord is the word for a handler that waits for something, and for its object.
var waitingWord = Word{"◔", "waiting", Intended}

// deniedWord is the word for a request that an admission handler denied.
var deniedWord = Word{"⊘", "denied", Intended}

// WaitingWord returns the word for a handler that waits for something.
func WaitingWord() Word { return waitingWord }

// Waits reports whether a handler waits for something: it has returned a temporary error, and is called again.
func Waits(h *inspect.HandlerState) bool {
	return h.State == inspect.PhaseRetrying && h.Error != nil && h.Error.Kind == inspect.ErrorTemporary
}

// onlyWaits reports whether an object is being retried only because handlers wait for something.
func onlyWaits(o *inspect.Object) bool {
	if o.State != inspect.StateRetrying {
		return false
	}
	fails := func(h inspect.HandlerState) bool {
		return h.State == inspect.PhaseRetrying && h.Error != nil && !Waits(&h)
	}
	waits := func(h inspect.HandlerState) bool { return Waits(&h) }
	return slices.ContainsFunc(o.Handlers, waits) && !slices.ContainsFunc(o.Handlers, fails)
}

// WordOf returns the word for the state of an object.
func WordOf(o *inspect.Object) Word {
	if h := Active(o); onlyWaits(o) || o.State == inspect.StateRunning && h != nil && h.Slot {
		return waitingWord
	}
	return ObjectWord(o.State)
}

// HandlerWordOf returns the word for the state of a handler on an object.
func HandlerWordOf(h *inspect.HandlerState) Word {
	if Waits(h) || h.Slot {
		return waitingWord
	}
	return HandlerWord(h.State)
}

// AttemptWord returns the word for the outcome of an attempt.
func AttemptWord(a *inspect.Attempt) Word {
	if a.Error == nil {
		return HandlerWord(inspect.PhaseDone)
	}
	switch a.Error.Kind {
	case inspect.ErrorPermanent, inspect.ErrorRetries, inspect.ErrorTimeout:
		return HandlerWord(inspect.PhaseFailed)
	case inspect.ErrorTemporary:
		return waitingWord
	}
	return HandlerWord(inspect.PhaseRetrying)
}

// ReviewedWord returns the word for an admission handler's decision about a request.
func ReviewedWord(h *inspect.ReviewedHandler) Word {
	switch {
	case h.Error == nil:
		return HandlerWord(inspect.PhaseDone)
	case h.Error.Kind == inspect.ErrorAdmission:
		return deniedWord
	}
	return HandlerWord(inspect.PhaseFailed)
}
