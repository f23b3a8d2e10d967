package settlement

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// objectOutcome is the outcome of one object. If it is neither failed, pending nor skipped, it is
// settled.
type objectOutcome struct {
	name     string // "evc/default/web-data"
	failed   string // the reason of the failure; empty if there is none
	pending  string // the reason to wait; empty if there is none
	skipped  string // reason why no handler matches; empty if a handler matches
	handlers []handlerOutcome
}

// handlerOutcome is the outcome of one handler of an object.
type handlerOutcome struct {
	id      string
	failed  string // the error
	pending string // the reason to wait; empty if there is none
	took    time.Duration
}

// isHandled reports whether any handler matches the object.
func (o objectOutcome) isHandled() bool { return o.skipped == "" }

// outcomeOf returns the outcomes of the handlers that were called for an object or will be called.
func outcomeOf(o *inspect.Object, name string) objectOutcome {
	outcome := objectOutcome{name: name}
	if o.State == inspect.StateIgnored {
		outcome.skipped = "no handler matches this object"
	}
	for i := range o.Handlers {
		h := &o.Handlers[i]
		one := handlerOutcome{id: h.ID}
		for _, attempt := range h.Attempts {
			one.took += time.Duration(attempt.Took)
		}
		switch h.State {
		case inspect.PhaseFailed:
			one.failed = "failed permanently" + attempts(h)
		case inspect.PhaseRetrying, inspect.PhaseRunning, inspect.PhaseNext:
			one.pending = string(h.State) + attempts(h)
		default:
			if len(h.Attempts) == 0 {
				continue
			}
		}
		if h.Error != nil {
			one.failed, one.pending = withError(one.failed, h.Error), withError(one.pending, h.Error)
		}
		outcome.handlers = append(outcome.handlers, one)
	}
	return outcome
}

func withError(what string, err *inspect.HandlerError) string {
	if what == "" {
		return ""
	}
	return what + ": " + err.Message
}

// Summary returns the numbers of objects, handlers and webhooks, such as "settled: 3 objects; 2 handlers succeeded". It is
// empty before the first check.
func (s Settlement) Summary() string {
	if len(s.outcomes) == 0 && len(s.Pending) > 0 {
		return ""
	}
	var idle, skipped, failed, pending, done, broken, open int
	for _, o := range s.outcomes {
		switch {
		case o.skipped != "":
			skipped++
		case o.pending != "":
			pending++
		case o.failed != "":
			failed++
		case len(o.handlers) == 0:
			idle++
		}
		for _, h := range o.handlers {
			switch {
			case h.failed != "":
				broken++
			case h.pending != "":
				open++
			default:
				done++
			}
		}
	}
	objects := []string{countObjects(len(s.outcomes))}
	for _, part := range []struct {
		n    int
		what string
	}{
		{failed, "failed"}, {pending, "not settled"}, {idle, "with nothing to do"}, {skipped, "without handlers"},
	} {
		if part.n > 0 {
			objects = append(objects, strconv.Itoa(part.n)+" "+part.what)
		}
	}
	handlers := []string{countHandlers(done) + " succeeded"}
	if broken > 0 {
		handlers = append(handlers, strconv.Itoa(broken)+" failed")
	}
	if open > 0 {
		handlers = append(handlers, strconv.Itoa(open)+" not done")
	}
	switch s.webhooks {
	case 0:
	case 1:
		handlers = append(handlers, "1 webhook installed")
	default:
		handlers = append(handlers, strconv.Itoa(s.webhooks)+" webhooks installed")
	}
	word := "settled"
	if len(s.Failed) > 0 || len(s.Pending) > 0 {
		word = "not settled"
	}
	return fmt.Sprintf("%s: %s; %s", word, strings.Join(objects, ", "), strings.Join(handlers, ", "))
}

// countHandlers formats a number of handlers: "1 handler", "3 handlers".
func countHandlers(n int) string {
	if n == 1 {
		return "1 handler"
	}
	return strconv.Itoa(n) + " handlers"
}

// sortOutcomes sorts by the names of the objects, so that reports can be compared.
func sortOutcomes(outcomes []objectOutcome) []objectOutcome {
	return slices.SortedFunc(slices.Values(outcomes), func(a, b objectOutcome) int { return cmp.Compare(a.name, b.name) })
}
