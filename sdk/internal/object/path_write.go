package object

import (
	"errors"
	"maps"
)

// Ensure sets a field in place, and creates absent parents. It returns a [NotMapError] if a
// parent is not a map.
func Ensure(m map[string]any, p Path, v any) error {
	if len(p) == 0 {
		return ErrRoot
	}
	for _, key := range p[:len(p)-1] {
		key = mapKey(key)
		child, ok := m[key]
		if !ok {
			child = map[string]any{}
			m[key] = child
		}
		next, ok := child.(map[string]any)
		if !ok {
			return &NotMapError{Path: p, Key: key, Value: child}
		}
		m = next
	}
	m[mapKey(p[len(p)-1])] = v
	return nil
}

// Remove removes a field in place, and the parents that become empty. It returns a
// [NotMapError] if a parent is not a map; an absent field is not an error.
func Remove(m map[string]any, p Path) error {
	if len(p) == 0 {
		return ErrRoot
	}
	return remove(m, p, p)
}

func remove(m map[string]any, p, whole Path) error {
	key := mapKey(p[0])
	if len(p) == 1 {
		delete(m, key)
		return nil
	}
	child, ok := m[key]
	if !ok {
		return nil
	}
	next, ok := child.(map[string]any)
	if !ok {
		return &NotMapError{Path: whole, Key: p[1], Value: child}
	}
	if err := remove(next, p[1:], whole); err != nil {
		return err
	}
	if len(next) == 0 {
		delete(m, key)
	}
	return nil
}

// Cherrypick sets fields of dst, in place, to their values in src, which are shared. It skips
// fields that are absent from src.
func Cherrypick(src, dst map[string]any, paths ...Path) error {
	for _, p := range paths {
		v, err := Resolve(src, p)
		if _, missing := errors.AsType[*missingError](err); missing {
			continue
		}
		if err != nil {
			return err
		}
		if err := Ensure(dst, p, v); err != nil {
			return err
		}
	}
	return nil
}

// With returns a copy of the tree with a field set. It copies only the maps in the path, and
// replaces parents that are not maps.
func With(m map[string]any, p Path, v any) map[string]any {
	if len(p) == 0 {
		return m
	}
	out := make(map[string]any, len(m)+1)
	maps.Copy(out, m)
	key := mapKey(p[0])
	if len(p) == 1 {
		out[key] = v
		return out
	}
	child, _ := out[key].(map[string]any)
	out[key] = With(child, p[1:], v)
	return out
}

// Without returns a copy of the tree without a field and without the parents that become
// empty. It copies only the maps in the path; it returns the tree itself if the field is absent.
func Without(m map[string]any, p Path) map[string]any {
	out, _ := without(m, p)
	return out
}

func without(m map[string]any, p Path) (out map[string]any, changed bool) {
	if len(p) == 0 {
		return m, false
	}
	key := mapKey(p[0])
	child, ok := m[key]
	if !ok {
		return m, false
	}
	if len(p) > 1 {
		next, isMap := child.(map[string]any)
		if !isMap {
			return m, false
		}
		rest, changed := without(next, p[1:])
		switch {
		case len(rest) > 0 && !changed:
			return m, false
		case len(rest) > 0:
			out = maps.Clone(m)
			out[key] = rest
			return out, true
		}
	}
	out = maps.Clone(m)
	delete(out, key)
	return out, true
}
