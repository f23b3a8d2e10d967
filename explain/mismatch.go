package explain

import (
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Mismatch formats the reason why a filter excluded an object: the fact, then the handler's requirement.
func Mismatch(m *inspect.Mismatch) string {
	if m == nil {
		return ""
	}
	switch m.Kind {
	case inspect.MismatchReason:
		return "runs on " + m.Wants
	case inspect.MismatchWhen:
		if m.Path == "" {
			return "When said no"
		}
		return "When(" + m.Path + ") said no"
	}
	if m.Wants == "changed" {
		return subject(m) + " did not change"
	}
	return fact(m) + ", must be " + required(m)
}

// subject names the subject of the mismatch.
func subject(m *inspect.Mismatch) string {
	switch m.Kind {
	case inspect.MismatchValue:
		return m.Path
	case inspect.MismatchOld:
		return "old " + m.Path
	case inspect.MismatchNew:
		return "new " + m.Path
	}
	return strings.TrimSpace(string(m.Kind) + " " + m.Path)
}

func fact(m *inspect.Mismatch) string {
	switch {
	case m.Absent:
		return subject(m) + " is absent"
	case m.Is == "":
		return subject(m) + ` is ""`
	}
	return subject(m) + " is " + m.Is
}

func required(m *inspect.Mismatch) string {
	switch {
	case m.Wants == "present":
		return "there"
	case m.Wants == "" && m.Absent:
		return "there"
	case m.Wants == "":
		return "something else" // only the function of the filter knows which values it accepts
	}
	return m.Wants
}

// ignored explains why no handler matches. It groups the handlers by the excluding fact, names the fact with the most
// handlers, and counts the remaining handlers.
func ignored(o *inspect.Object) string {
	type group struct {
		why      *inspect.Mismatch
		handlers []string
	}
	var groups []*group
	others := 0
	for i := range o.Handlers {
		h := &o.Handlers[i]
		if h.Why == nil {
			continue
		}
		if h.Why.Kind == inspect.MismatchReason {
			others++
			continue
		}
		var mine *group
		for _, g := range groups {
			if *g.why == *h.Why {
				mine = g
			}
		}
		if mine == nil {
			mine = &group{why: h.Why}
			groups = append(groups, mine)
		}
		mine.handlers = append(mine.handlers, h.ID)
	}
	if len(groups) == 0 {
		if others > 0 {
			return "No handler matches: " + reasons(o) + "."
		}
		return "No handler matches."
	}
	best := groups[0]
	for _, g := range groups {
		if len(g.handlers) > len(best.handlers) {
			best = g
		}
	}
	s := "No handler matches: " + mismatchOf(best.why, best.handlers)
	if more := len(groups) - 1; more > 0 {
		s += "; and " + Count(more, "other reason")
	}
	return s + "."
}

// mismatchOf formats a mismatch that several handlers have in common.
func mismatchOf(m *inspect.Mismatch, handlers []string) string {
	switch {
	case m.Kind == inspect.MismatchWhen:
		return Mismatch(m) + " for " + list(handlers)
	case m.Wants == "changed":
		return subject(m) + " did not change, and " + list(handlers) + pick(len(handlers), " waits", " wait") + " for that"
	}
	target := required(m)
	if target == "there" {
		target = "it"
	}
	return fact(m) + ", and " + list(handlers) + pick(len(handlers), " wants ", " want ") + target
}

// reasons lists the reasons for which the handlers run, if only the reason excludes them.
func reasons(o *inspect.Object) string {
	var all []string
	for i := range o.Handlers {
		if h := &o.Handlers[i]; h.Why != nil && h.Why.Kind == inspect.MismatchReason {
			all = append(all, h.ID+" "+Mismatch(h.Why))
		}
	}
	return list(all)
}
