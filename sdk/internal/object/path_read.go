package object

import (
	"errors"
	"fmt"
	"iter"
	"strconv"
)

// ErrRoot is the error of setting or removing a whole object.
var ErrRoot = errors.New("cannot set or remove the root of an object: name a field")

// missingError is the error of a field that is absent from a map.
type missingError struct {
	Path Path   // the requested path
	Key  string // the absent key
}

// Error implements error.
func (e *missingError) Error() string {
	return fmt.Sprintf("field %s: there is no %q", e.Path, e.Key)
}

// NotMapError is the error of a field in a value that is not a map.
type NotMapError struct {
	Path  Path   // the requested path
	Key   string // key that a value of this type cannot have
	Value any    // value where a map is expected
}

// Error implements error.
func (e *NotMapError) Error() string {
	return fmt.Sprintf("field %s: cannot look for %q in %T", e.Path, e.Key, e.Value)
}

// Lookup returns the value of a field, and whether it exists. A null field exists. A field
// within a value of another type than a map or a list does not.
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

// Resolve is [Lookup] through maps only. Its error says why the field does not exist; it is
// a [NotMapError] where a value in the path is not a map.
func Resolve(v any, p Path) (any, error) {
	for _, key := range p {
		parent, ok := v.(map[string]any)
		if !ok {
			return nil, &NotMapError{Path: p, Key: key, Value: v}
		}
		child, ok := parent[mapKey(key)]
		if !ok {
			return nil, &missingError{Path: p, Key: key}
		}
		v = child
	}
	return v, nil
}

// Barrier returns the outermost value that is neither a map nor null nor absent among the parents
// of a field, and its path; nil if there is none, so that the field can be set.
func Barrier(v any, p Path) (Path, any) {
	for i, key := range p {
		parent, ok := v.(map[string]any)
		if !ok && v != nil {
			return p[:i], v
		}
		v = parent[mapKey(key)]
	}
	return nil, nil
}

// Barrier is the function [Barrier] for the object. It reads only the parents of the field.
func (o *Object) Barrier(p Path) (Path, any, error) {
	text := o.Raw
	for i, key := range p {
		if i > 0 && text[0] != '{' {
			v, err := DecodeJSON(text)
			if err != nil || v == nil {
				return nil, nil, err
			}
			return p[:i], v, nil
		}
		if text = Member(text, mapKey(key)); len(text) == 0 {
			return nil, nil, nil
		}
	}
	return nil, nil, nil
}

// Walk iterates over an object, or the objects in nested lists, and after each of them over
// those of its nested fields that exist.
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

// indexOf parses a segment such as "[0]".
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

// mapKey returns the key that a segment is in a map, where digits in brackets are a key.
func mapKey(segment string) string {
	if _, ok := indexOf(segment); ok {
		return segment[1 : len(segment)-1]
	}
	return segment
}
