package handlers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

type check uint8

const (
	checkEqual check = iota
	checkPresent
	checkAbsent
	checkFunc
)

// Criterion is a condition on one value, which may be absent. The zero Criterion matches only null.
type Criterion struct {
	check  check
	want   any // plain JSON value
	accept func(ctx context.Context, c *Cause, value any, found bool) bool
	name   string // name of accept
}

var (
	// Present accepts any value, including an empty string and null.
	Present = Criterion{check: checkPresent}
	// Absent accepts only the absence of a value.
	Absent = Criterion{check: checkAbsent}
)

// errNull rejects null as the wanted value, because it could mean presence or absence.
var errNull = errors.New("null is ambiguous; use Present or Absent")

// EqualCriterion accepts the values that are equal to a wanted one, which is anything that encodes
// as JSON except null.
func EqualCriterion(want any) (Criterion, error) {
	normal, err := object.Normalize(want)
	if err != nil {
		return Criterion{}, fmt.Errorf("encode the wanted value: %w", err)
	}
	if normal == nil {
		return Criterion{}, errNull
	}
	return Criterion{check: checkEqual, want: normal}, nil
}

// EqualStringCriterion accepts one string.
func EqualStringCriterion(want string) Criterion { return Criterion{check: checkEqual, want: want} }

// FuncCriterion accepts the values for which a function returns true. The function gets the cause and its
// context, and plain JSON values, or nil and false for an absent one. The name is shown by the inspector.
func FuncCriterion(name string, accept func(ctx context.Context, c *Cause, value any, found bool) bool) Criterion {
	return Criterion{check: checkFunc, accept: accept, name: name}
}

// accepts reports whether a value of an object meets the criterion; found is false for an absent value.
func (c *Criterion) accepts(cause *Cause, value any, found bool) bool {
	switch c.check {
	case checkPresent:
		return found
	case checkAbsent:
		return !found
	case checkFunc:
		return c.accept(cause.context(), cause, value, found)
	default:
		return found && object.Equal(c.want, value)
	}
}

// LabelOperator returns the operator of a label selector that is the same condition, with its value for
// "In"; false if there is none.
func (c *Criterion) LabelOperator() (operator string, value string, ok bool) {
	switch c.check {
	case checkPresent:
		return "Exists", "", true
	case checkAbsent:
		return "DoesNotExist", "", true
	case checkEqual:
		value, ok = c.want.(string)
		return "In", value, ok
	default:
		return "", "", false
	}
}

// Wants returns the requirement of the criterion, for the inspector: "present", "absent", a value, or the name of a
// function.
func (c *Criterion) Wants() string {
	switch c.check {
	case checkPresent:
		return WantsPresent
	case checkAbsent:
		return WantsAbsent
	case checkFunc:
		return c.name
	default:
		return show(c.want)
	}
}

// maxShown is the number of bytes to which shown values are shortened.
const maxShown = 200

// show returns a value in short form: a string as it is, anything else as JSON.
func show(value any) string {
	text, ok := value.(string)
	if !ok {
		encoded, err := json.Marshal(value)
		if err != nil {
			return fmt.Sprintf("%v", value)
		}
		text = string(encoded)
	}
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
