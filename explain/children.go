package explain

import (
	"fmt"
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

// ChildWord returns the word for a child: its state, or, if it does not exist, the reason.
func ChildWord(c *inspect.Child) Word {
	if c.State != "" {
		return lookup(childWords, c.State)
	}
	if w, ok := absentChildWords[c.Result]; ok {
		return w
	}
	return Word{"!", "missing", Warn}
}

// ChildDetail returns the reason for the state of a child, the refusal of the last pass, and the newest drift; empty if there is
// none.
func ChildDetail(c *inspect.Child) string {
	var parts []string
	switch {
	case c.Error != "" && c.State != "":
		parts = append(parts, string(c.Result)+": "+c.Error)
	case c.Error != "":
		parts = append(parts, c.Error)
	}
	if c.Message != "" {
		parts = append(parts, c.Message)
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

// ChildDrift says which applied field others have changed, and the consequence.
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
