package object

import (
	"slices"
)

// Op is the kind of a change.
type DiffOp string

// The kinds of changes.
const (
	DiffAdd    DiffOp = "add"    // the field was absent or null
	DiffChange DiffOp = "change" // the field had another value
	DiffRemove DiffOp = "remove" // the field is absent or null now
)

// Item is one changed field.
type DiffItem struct {
	Op   DiffOp // what happened to the field
	Path Path   // where it is; nil is the whole value that was compared
	Old  any    // its value before; nil if added
	New  any    // its value now; nil if removed
}

// Diff is all changed fields between two states. Lists are compared as a whole.
type Diff []DiffItem

// Scope limits the fields that are compared. The zero value compares all.
type DiffScope int

// The scopes.
const (
	DiffFull DiffScope = iota // fields of both sides
	Left                      // only fields that the old side has
	Right                     // only fields that the new side has
)

// Compute compares two trees. At each level, the additions come first, then the
// removals, then the changes beneath the fields that both have, each in the order of
// their names. Null and absence are the same.
func ComputeDiff(before, after any) Diff {
	return ComputeScopedDiff(before, after, DiffFull)
}

// ComputeScoped is [Compute] limited to the fields of one side.
func ComputeScopedDiff(before, after any, scope DiffScope) Diff {
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
			out.collect(nil, before, after, DiffFull)
		}
	}
	return out
}

// collect appends the changes. The path is reused by the caller: it is copied only
// when there is something to report, since most comparisons find nothing.
func (d *Diff) collect(p Path, before, after any, scope DiffScope) {
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

func (d *Diff) collectMaps(p Path, before, after map[string]any, scope DiffScope) {
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

// split finds the keys that are worth a closer look: of the common ones, those that
// are equal already are left out, so that only what has changed is sorted.
func split(before, after map[string]any, scope DiffScope) (added, removed, common []string) {
	found := 0
	for key, value := range before {
		other, ok := after[key]
		if ok {
			found++
			if !same(value, other) {
				common = append(common, key)
			}
		} else if scope != Right && value != nil {
			removed = append(removed, key)
		}
	}
	if scope != Left && found < len(after) {
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

// same is a cheap check that spares sorting. A false answer decides nothing.
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
