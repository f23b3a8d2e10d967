package object

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// ErrRoot is the refusal to set or remove a whole object: a field is needed.
var ErrRoot = errors.New("the root of an object cannot be set or removed: name a field")

// MissingError says that a field is absent while everything above it is in order.
type MissingError struct {
	Path Path   // the whole path that was asked for
	Key  string // the key that is absent
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("field %s: there is no %q", e.Path, e.Key)
}

// NotMapError says that a key was looked for in something that has no keys.
type NotMapError struct {
	Path  Path   // the whole path that was asked for
	Key   string // the key that was looked for
	Value any    // what is there in place of a map
}

// Error implements error.
func (e *NotMapError) Error() string {
	return fmt.Sprintf("field %s: cannot look for %q in %T", e.Path, e.Key, e.Value)
}

// Lookup returns the value of a field. Null is a value; whatever else is in the way
// makes the field absent. Indices walk lists.
func Lookup(v any, p Path) (any, bool) {
	for _, key := range p {
		switch parent := v.(type) {
		case map[string]any:
			child, ok := parent[mapKey(key)]
			if !ok {
				return nil, false
			}
			v = child
		case []any:
			i, ok := indexOf(key)
			if !ok || i >= len(parent) {
				return nil, false
			}
			v = parent[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Resolve is [Lookup] through maps alone, which tells why a field is not there:
// with a [MissingError] or a [NotMapError].
func Resolve(v any, p Path) (any, error) {
	for _, key := range p {
		parent, ok := v.(map[string]any)
		if !ok {
			return nil, &NotMapError{Path: p, Key: key, Value: v}
		}
		child, ok := parent[mapKey(key)]
		if !ok {
			return nil, &MissingError{Path: p, Key: key}
		}
		v = child
	}
	return v, nil
}

// Walk goes over an object or any nesting of lists of objects, and after each object
// over those of its nested fields that exist.
func Walk(objs any, nested ...Path) iter.Seq[any] {
	return func(yield func(any) bool) {
		walk(objs, nested, yield)
	}
}

func walk(objs any, nested []Path, yield func(any) bool) bool {
	switch objs := objs.(type) {
	case nil:
		return true
	case []any:
		for _, obj := range objs {
			if !walk(obj, nested, yield) {
				return false
			}
		}
		return true
	case map[string]any:
		if !yield(objs) {
			return false
		}
		for _, path := range nested {
			if v, err := Resolve(objs, path); err == nil && !yield(v) {
				return false
			}
		}
		return true
	default:
		return yield(objs)
	}
}

// indexOf reads a segment such as "[0]".
func indexOf(segment string) (int, bool) {
	if len(segment) < 3 || segment[0] != '[' || segment[len(segment)-1] != ']' {
		return 0, false
	}
	digits := segment[1 : len(segment)-1]
	if !isDigits(digits) {
		return 0, false
	}
	i, err := strconv.Atoi(digits)
	return i, err == nil
}

// mapKey is what a segment means in a map: there, digits in brackets are a key.
func mapKey(segment string) string {
	if _, ok := indexOf(segment); ok {
		return segment[1 : len(segment)-1]
	}
	return segment
}
