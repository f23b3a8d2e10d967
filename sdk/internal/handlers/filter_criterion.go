package handlers

import (
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

// Criterion is a check of one value, which may be absent. The zero Criterion matches
// nothing but null.
type Criterion struct {
	check  check
	want   any // a tree
	accept func(value any, found bool) bool
	name   string // of accept
}

var (
	// Present accepts any value that is there; an empty string and null are.
	Present = Criterion{check: checkPresent}
	// Absent accepts a value that is not there.
	Absent = Criterion{check: checkAbsent}
)

// ErrNull is the error of null as a wanted value: it says neither that the value is
// there nor that it is not.
var ErrNull = errors.New("null cannot be asked for: use Present or Absent")

// Equal accepts the values that are equal to one: a tree, or anything that can be encoded
// to JSON.
func EqualCriterion(want any) (Criterion, error) {
	normal, err := object.Normalize(want)
	if err != nil {
		return Criterion{}, fmt.Errorf("the wanted value: %w", err)
	}
	if normal == nil {
		return Criterion{}, ErrNull
	}
	return Criterion{check: checkEqual, want: normal}, nil
}

// EqualString accepts one string.
func EqualStringCriterion(want string) Criterion { return Criterion{check: checkEqual, want: want} }

// Func accepts the values that a function accepts: a tree, or nil and false if there is
// no value. The name is what the inspector calls the function.
func FuncCriterion(name string, accept func(value any, found bool) bool) Criterion {
	return Criterion{check: checkFunc, accept: accept, name: name}
}

// Accepts checks a value; found is false if there is none.
func (c *Criterion) Accepts(value any, found bool) bool {
	switch c.check {
	case checkPresent:
		return found
	case checkAbsent:
		return !found
	case checkFunc:
		return c.accept(value, found)
	default:
		return found && object.Equal(c.want, value)
	}
}

// Wants is what the criterion asks for, in the words of the inspector: "present",
// "absent", a value, or the name of a function.
func (c *Criterion) Wants() string {
	switch c.check {
	case checkPresent:
		return WantsPresent
	case checkAbsent:
		return WantsAbsent
	case checkFunc:
		return c.name
	default:
		return Show(c.want)
	}
}

// maxShown is how much of a value is shown; what is longer is cut.
const maxShown = 200

// Show puts a value into few words: a string as it is, all else as JSON, cut if long.
func Show(value any) string {
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
