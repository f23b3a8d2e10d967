package explain

import (
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// NextStep is what happens next with a handler on an object, and when. Its methods format
// it for the places where it is shown.
type NextStep struct {
	Kind NextKind
	In   time.Duration // time until it happens; zero or less if it is due
	Held string        // reason why it does not happen, from [State.Held]; only of NextHeld

	Waits bool // the handler waits for something; only of NextRetry and NextWake

	UpTo time.Duration // delay up to which the delays grow; 0 if they do not grow; only of NextRetry
}

// NextKind is the kind of the next step.
type NextKind int

// The kinds. NextNothing is the zero value.
const (
	NextNothing NextKind = iota // nothing is scheduled
	NextNever                   // the handler failed permanently
	NextHeld                    // it is scheduled, but the operator does not act
	NextRetry                   // another attempt
	NextChange                  // another attempt with the next version of the object
	NextCall                    // the regular next call, as of a timer
	NextWake                    // another pass when the object or a child changes
	NextSlot                    // the call, when the handler gets a slot of its limit
)

// Next returns the next step of a handler on an object at a time. Held is [State.Held]. The table, the notes, the
// page's title and the sentences only format its result, so that they agree.
func Next(h *inspect.HandlerState, now time.Time, held string) NextStep {
	retrying := h.State == inspect.PhaseRetrying
	switch {
	case h.State == inspect.PhaseFailed:
		return NextStep{Kind: NextNever}
	case !retrying && h.Next.IsZero() && !h.Slot:
		return NextStep{}
	case held != "":
		return NextStep{Kind: NextHeld, Held: held}
	case h.Slot:
		return NextStep{Kind: NextSlot}
	case retrying && h.Kind == inspect.KindIndex && !h.Next.After(now):
		return NextStep{Kind: NextChange}
	case retrying && h.Kind == inspect.KindReconcile && h.Next.IsZero():
		return NextStep{Kind: NextWake, Waits: Waits(h)}
	case retrying:
		step := NextStep{Kind: NextRetry, In: h.Next.Sub(now), Waits: Waits(h)}
		if !step.Waits { // a temporary error names its delay
			step.UpTo = time.Duration(h.MaxDelay)
		}
		return step
	}
	return NextStep{Kind: NextCall, In: h.Next.Sub(now)}
}

// nextVersion is the time of NextChange.
const nextVersion = "with the next version"

// nextChange is the time of NextWake.
const nextChange = "with the next change of it or of a child"

// Time formats when it happens: "in 12s", "now". It is empty if that is not known.
func (n NextStep) Time() string {
	if n.Kind == NextRetry || n.Kind == NextCall {
		return In(n.In)
	}
	return ""
}

// Cell formats the step for a column of a table: "in 12s", "held", "–".
func (n NextStep) Cell() string {
	switch n.Kind {
	case NextNever:
		return "–"
	case NextHeld:
		return "held"
	case NextSlot:
		return "slot"
	}
	return n.Time()
}

// Tone returns the tone of the cell and the note.
func (n NextStep) Tone() Tone {
	if n.Waits {
		return Intended
	}
	if n.Kind == NextRetry || n.Kind == NextChange {
		return Warn
	}
	return Dim
}

// grows formats the limit of growing delays: " (growing up to 10m)". It is empty if the delays do not grow.
func (n NextStep) grows() string {
	if n.UpTo == 0 {
		return ""
	}
	return " (growing up to " + Ago(n.UpTo) + ")"
}

// Note formats the step for a line about the handler: "in 12s", "in 97s (growing up to 10m)", "held: paused", "next in 5s".
func (n NextStep) Note() string {
	switch n.Kind {
	case NextHeld:
		return "held: " + n.Held
	case NextChange:
		return nextVersion
	case NextWake:
		return nextChange
	case NextSlot:
		return awaitsSlot
	case NextCall:
		return "next " + n.Time()
	}
	return n.Time() + n.grows()
}

// Clause formats the step as the end of a sentence: "retrying in 12s", "looking again in 12s", "the retry is held
// (paused)".
func (n NextStep) Clause() string {
	switch n.Kind {
	case NextHeld:
		return "the retry is held (" + n.Held + ")"
	case NextChange:
		return "retrying " + nextVersion
	case NextWake:
		return "looking again " + nextChange
	case NextSlot:
		return "the next call " + awaitsSlot
	}
	if n.Waits {
		return strings.TrimSpace("looking again " + n.Time())
	}
	return strings.TrimSpace("retrying " + n.Time() + n.grows())
}

// Sentence formats the step as a sentence: "Retrying in 12s."
func (n NextStep) Sentence() string {
	clause := n.Clause()
	return strings.ToUpper(clause[:1]) + clause[1:] + "."
}
