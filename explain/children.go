package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

var childWords = map[inspect.ChildState]Word{
	inspect.ChildReady:       {"✓", "ready", OK},
	inspect.ChildProgressing: {"▸", "progressing", Busy},
	inspect.ChildFailed:      {"✗", "failed", Err},
	inspect.ChildTerminating: {"⊖", "terminating", Busy},
	inspect.ChildUnknown:     {"·", "unknown", Dim},
}

var absentChildWords = map[inspect.ChildResult]Word{
	inspect.ResultRefused: {"!", "refused", Err},
	inspect.ResultAwaited: waitingWord,
	inspect.ResultPruned:  {"⊖", "pruned", Dim},
}

// ChildWord returns the word for the state of a child or, if the child does not exist, for the reason.
func ChildWord(c *inspect.Child) Word {
	if c.State != "" {
		return lookup(childWords, c.State)
	}
	if w, ok := absentChildWords[c.Result]; ok {
		return w
	}
	return Word{"!", "missing", Warn}
}

// ChildReason returns the error of the last pass for a child, and the reason for the child's state, separated by "·". It is empty if
// the child has neither.
func ChildReason(c *inspect.Child) string {
	var parts []string
	switch {
	case c.Error != "" && c.State != "":
		parts = append(parts, string(c.Result)+": "+c.Error)
	case c.Error != "":
		parts = append(parts, c.Error)
	case c.Result == inspect.ResultPruned && c.State == "":
		parts = append(parts, "no longer applied")
	}
	if c.Message != "" {
		parts = append(parts, c.Message)
	}
	return strings.Join(parts, " · ")
}

// ChildDetail returns [ChildReason] and the newest drift, separated by "·". It is empty if the child has neither.
func ChildDetail(c *inspect.Child) string {
	var parts []string
	if reason := ChildReason(c); reason != "" {
		parts = append(parts, reason)
	}
	if n := len(c.Drift); n > 0 {
		drift := ChildDrift(&c.Drift[n-1])
		if n > 1 {
			drift += fmt.Sprintf(" and %d more", n-1)
		}
		parts = append(parts, drift)
	}
	return strings.Join(parts, " · ")
}

// ChildDrift returns a phrase about an applied field that others have changed, such as "left spec.replicas to hpa (scale)".
func ChildDrift(d *inspect.FieldDrift) string {
	text := "left " + d.Path + " to "
	if d.Outcome == inspect.DriftReverted {
		text = "took " + d.Path + " back from "
	}
	if d.Manager == "" {
		text += "others"
	} else {
		text += d.Manager
	}
	if d.Scale {
		text += " (scale)"
	}
	if d.Count > 1 {
		text += fmt.Sprintf(", %d times", d.Count)
	}
	return text
}

var driftWords = map[inspect.DriftOutcome]Word{
	inspect.DriftReverted: {"↺", "reverted", Warn},
	inspect.DriftReported: {"!", "reported", Warn},
	inspect.DriftYielded:  {"·", "yielded", Dim},
}

// DriftWord returns the word for the consequence of a drift.
func DriftWord(d *inspect.FieldDrift) Word { return lookup(driftWords, d.Outcome) }

// KindName returns the kind and the name of an object: "Deployment shop".
func KindName(k *inspect.KindRef) string { return k.Kind + " " + k.Name }

// KeepsChildren reports whether an object has a reconcile handler, or had one in this process of the operator.
func KeepsChildren(o *inspect.Object) bool {
	return o.Children != nil || slices.ContainsFunc(o.Handlers, func(h inspect.HandlerState) bool { return h.Kind == inspect.KindReconcile })
}
