package explain

import (
	"encoding/json"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// IsEvent reports whether the reason of a cause is a change of the object. Other reasons, such as
// [inspect.ReasonNoop], are conclusions of the operator.
func IsEvent(reason inspect.Reason) bool {
	switch reason {
	case inspect.ReasonCreate, inspect.ReasonUpdate, inspect.ReasonDelete, inspect.ReasonResume:
		return true
	}
	return false
}

// ReasonWord returns the word for the reason of a cause.
func ReasonWord(reason inspect.Reason) string {
	switch reason {
	case inspect.ReasonNoop:
		return "no change"
	case inspect.ReasonFree:
		return string(inspect.ReasonDelete)
	}
	return string(reason)
}

// because formats the reason of a cause, to follow "because": "spec.size changed 1Gi → 2Gi".
func because(c *inspect.Cause) string {
	if c == nil {
		return ""
	}
	switch c.Reason {
	case inspect.ReasonCreate:
		return "the object is new"
	case inspect.ReasonDelete:
		return "the object is being deleted"
	case inspect.ReasonResume:
		return "the operator has started"
	}
	if len(c.Diff) == 0 {
		return ""
	}
	s := change(c.Diff[0])
	if more := len(c.Diff) - 1; more > 0 {
		s += " and " + Count(more, "more change")
	}
	return s
}

// change formats one difference: "spec.size changed 1Gi → 2Gi".
func change(d inspect.DiffItem) string {
	path := d.Path
	if path == "" {
		path = "the object"
	}
	switch d.Op {
	case inspect.DiffAdd:
		return path + " was added"
	case inspect.DiffRemove:
		return path + " was removed"
	}
	return path + " changed " + Value(d.Old) + " → " + Value(d.New)
}

// Value formats a field's value.
func Value(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		if v == "" {
			return `""`
		}
		return v
	case bool, int64, float64, int:
		return fmt.Sprint(v)
	}
	b, err := json.Marshal(v)
	if err != nil { // decoded from JSON, so it can be encoded; but a screen must not fail
		return fmt.Sprint(v)
	}
	return string(b)
}
