package explain

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// shownWakes is the number of reasons for a pass that are named; more are counted.
const shownWakes = 2

// Woken returns the reasons for a pass: "woken by Deployment shop: status.readyReplicas 0 → 1 (and 3 more)". It is empty if the
// operator has published no reason.
func Woken(p *inspect.Pass) string {
	var reasons []string
	for i := range p.Wakes {
		if r := wake(&p.Wakes[i]); !slices.Contains(reasons, r) {
			reasons = append(reasons, r)
		}
	}
	if len(reasons) == 0 {
		return ""
	}
	shown := reasons[:min(len(reasons), shownWakes)]
	text := "woken by " + strings.Join(shown, "; by ")
	if more := len(reasons) - len(shown); more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

var wakeWords = map[inspect.WakeKind]string{
	inspect.WakeObject:  "a change of the object",
	inspect.WakeStart:   "the start of the operator, or a delayed write",
	inspect.WakeRecheck: "the time of a recheck",
	inspect.WakeRetry:   "the failure of the last pass",
	inspect.WakeRequest: "a request",
}

// wake returns a reason for a pass as a noun.
func wake(w *inspect.Wake) string {
	if w.Object == nil {
		if word, ok := wakeWords[w.Kind]; ok {
			return word
		}
		return string(w.Kind)
	}
	name := KindName(w.Object)
	switch {
	case w.Kind == inspect.WakeVerify:
		return "another client's change of " + name
	case w.Type == "DELETED":
		return "the deletion of " + name
	case w.Type == "ADDED" && len(w.Changes) == 0:
		return "the new " + name
	case len(w.Changes) == 0:
		return name
	}
	text := name + ": " + shortChange(w.Changes[0])
	if more := len(w.Changes) - 1; more > 0 {
		text += " and " + Count(more, "more change")
	}
	return text
}

// shortChange formats one difference: "status.readyReplicas 0 → 1".
func shortChange(d inspect.DiffItem) string {
	return strings.TrimSpace(d.Path + " " + shortValue(d.Old) + " → " + shortValue(d.New))
}

// longestValue is the maximum number of characters of a value in a sentence.
const longestValue = 40

func shortValue(v any) string {
	text := Value(v)
	if utf8.RuneCountInString(text) <= longestValue {
		return text
	}
	return string([]rune(text)[:longestValue-1]) + "…"
}

// PassResults returns the numbers of a pass: "4 applied: 3 unchanged, 1 written · 1 pruned · 1 refused".
func PassResults(p *inspect.Pass) string {
	text := "nothing applied"
	switch written := p.Applied - p.Unchanged; {
	case p.Applied == 0:
	case written == 0:
		text = fmt.Sprintf("%d applied, unchanged", p.Applied)
	case p.Unchanged == 0:
		text = fmt.Sprintf("%d applied, all written", p.Applied)
	default:
		text = fmt.Sprintf("%d applied: %d unchanged, %d written", p.Applied, p.Unchanged, written)
	}
	if p.Pruned > 0 {
		text += fmt.Sprintf(" · %d pruned", p.Pruned)
	}
	if p.Refused > 0 {
		text += fmt.Sprintf(" · %d refused", p.Refused)
	}
	return text
}

// PassOutcome returns the outcome of a pass, with its reason and the time of the next pass: "waits: Deployment shop: 1 of 3 replicas
// are ready; at the latest in 9m". It is empty for a complete pass that schedules no other. Held is [State.HeldOf].
func PassOutcome(p *inspect.Pass, now time.Time, held string) (tone Tone, text string) {
	message := sentence(p.Message)
	switch p.Outcome {
	case inspect.PassComplete:
		tone = Dim
	case inspect.PassWaiting:
		tone, text = Intended, "waits: "+message
	case inspect.PassRetrying:
		tone, text = Warn, "failed: "+message
	case inspect.PassFailed:
		tone, text = Err, "failed permanently: "+message
	default:
		tone, text = Dim, strings.TrimSuffix(string(p.Outcome)+": "+message, ": ")
	}
	if p.Until.IsZero() {
		return tone, text
	}
	if held != "" {
		return tone, strings.TrimPrefix(text+"; the next pass is held: "+held, "; ")
	}
	next := "; again " + In(p.Until.Sub(now))
	if p.Outcome != inspect.PassRetrying {
		next += " at the latest"
	}
	return tone, strings.TrimPrefix(text+next, "; ")
}

// PassText sums up a pass: its causes, its results and its outcome. Held is [State.HeldOf].
func PassText(p *inspect.Pass, now time.Time, held string) string {
	_, outcome := PassOutcome(p, now, held)
	facts := []string{Woken(p), PassResults(p), outcome, Unserved(p), Undeclared(p)}
	return strings.Join(slices.DeleteFunc(facts, func(s string) bool { return s == "" }), " · ")
}

// Unserved names the optional kinds whose children a pass has left out; empty if there are none.
func Unserved(p *inspect.Pass) string {
	if len(p.Unserved) == 0 {
		return ""
	}
	return "left out, because the cluster does not serve their kinds: children of " + list(p.Unserved)
}

// Undeclared names the kinds of children that a pass has found although no handler declares them any longer; empty if there are none.
func Undeclared(p *inspect.Pass) string {
	if len(p.Undeclared) == 0 {
		return ""
	}
	return "children of an earlier release, of kinds that no handler declares: " + list(p.Undeclared)
}
