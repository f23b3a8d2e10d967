package object

import (
	"slices"
)

// DiffOp is the kind of a change.
type DiffOp string

// The kinds of changes.
const (
	DiffAdd    DiffOp = "add"    // the field was absent or null
	DiffChange DiffOp = "change" // the field had another value
	DiffRemove DiffOp = "remove" // the field is absent or null now
)

// DiffItem is a changed field.
type DiffItem struct {
	Op   DiffOp // operation on the field
	Path Path   // nil is the whole value
	Old  any    // nil if the field was added
	New  any    // nil if the field was removed
}

// Diff is all changed fields between two states. Lists are compared as a whole.
type Diff []DiffItem

// diffScope limits the compared fields.
type diffScope int

// The scopes.
const (
	fullScope  diffScope = iota // fields of both sides
	leftScope                   // only fields that the old side has
	rightScope                  // only fields that the new side has
)

// ComputeDiff compares two trees. At each level, the additions come first, then the removals,
// then the changes within the fields of both sides, each sorted by name. Null equals absence.
func ComputeDiff(before, after any) Diff {
	return computeScopedDiff(before, after, fullScope)
}

// computeScopedDiff is [ComputeDiff] for the fields of a scope.
func computeScopedDiff(before, after any, scope diffScope) Diff {
	var d Diff
	d.collect(nil, before, after, scope)
	return d
}

// Reduce returns the changes of one field, with paths relative to it.
func (d Diff) Reduce(p Path) Diff {
	if len(p) == 0 {
		return d
	}
	var out Diff
	for _, item := range d {
		switch {
		case item.Path.HasPrefix(p):
			item.Path = tail(item.Path, len(p))
			out = append(out, item)
		case p.HasPrefix(item.Path):
			rest := p[len(item.Path):]
			before, _ := Lookup(item.Old, rest)
			after, _ := Lookup(item.New, rest)
			out.collect(nil, before, after, fullScope)
		}
	}
	return out
}

// collect appends the changes. The caller reuses the path, so collect copies it for each
// change; most comparisons find none.
func (d *Diff) collect(p Path, before, after any, scope diffScope) {
	switch {
	case before == nil && after == nil:
		return
	case before == nil:
		*d = append(*d, DiffItem{Op: DiffAdd, Path: slices.Clone(p), New: after})
		return
	case after == nil:
		*d = append(*d, DiffItem{Op: DiffRemove, Path: slices.Clone(p), Old: before})
		return
	}
	oldMap, oldIsMap := before.(map[string]any)
	newMap, newIsMap := after.(map[string]any)
	if oldIsMap && newIsMap {
		d.collectMaps(p, oldMap, newMap, scope)
		return
	}
	if !Equal(before, after) {
		*d = append(*d, DiffItem{Op: DiffChange, Path: slices.Clone(p), Old: before, New: after})
	}
}

func (d *Diff) collectMaps(p Path, before, after map[string]any, scope diffScope) {
	added, removed, common := split(before, after, scope)
	for _, key := range added {
		d.collect(append(p, key), nil, after[key], scope)
	}
	for _, key := range removed {
		d.collect(append(p, key), before[key], nil, scope)
	}
	for _, key := range common {
		d.collect(append(p, key), before[key], after[key], scope)
	}
}

// split returns the keys that may have changed. It omits common keys with equal values, so
// that only changes need sorting.
func split(before, after map[string]any, scope diffScope) (added, removed, common []string) {
	found := 0
	for key, value := range before {
		other, ok := after[key]
		if ok {
			found++
			if !same(value, other) {
				common = append(common, key)
			}
		} else if scope != rightScope && value != nil {
			removed = append(removed, key)
		}
	}
	if scope != leftScope && found < len(after) {
		for key, value := range after {
			if _, ok := before[key]; !ok && value != nil {
				added = append(added, key)
			}
		}
	}
	slices.Sort(added)
	slices.Sort(removed)
	slices.Sort(common)
	return added, removed, common
}

// same is a cheap check for equality. It may return false for equal values.
func same(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case map[string]any, []any:
		return Equal(a, b)
	}
	return a == nil && b == nil
}

func tail(p Path, n int) Path {
	if len(p) == n {
		return nil
	}
	return p[n:]
}
