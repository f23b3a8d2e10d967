package model

import (
	"encoding/json"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// IsEvent reports whether the reason of a cause says what has happened to the object. The
// others, such as "noop", say what the operator made of it.
func IsEvent(reason string) bool {
	switch reason {
	case "create", "update", "delete", "resume":
		return true
	}
	return false
}

// ReasonWord returns the word for the reason of a cause.
func ReasonWord(reason string) string {
	switch reason {
	case "noop":
		return "no change"
	case "free", "gone":
		return "delete"
	}
	return reason
}

// because formats the reason of a cause, to follow "because": "spec.size changed 1Gi → 2Gi".
func because(c *inspect.Cause) string {
	if c == nil {
		return ""
	}
	switch c.Reason {
	case "create":
		return "the object is new"
	case "delete":
		return "the object is being deleted"
	case "resume":
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
	case "add":
		return path + " was added"
	case "remove":
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
