package children

import (
	"slices"
	"strings"
	"time"
)

// Ownership is a verdict on the fields of a child that the operator has applied.
type Ownership int

// The verdicts. Everything but Covered is a reason to apply the child.
const (
	Covered      Ownership = iota // our entry has all fields that we apply
	Drifted                       // our entry lacks applied fields
	Lost                          // we have no entry, as after managedFields were cleared
	OtherVersion                  // the entry has another version of the API, which may be removed some day
)

// String implements [fmt.Stringer].
func (o Ownership) String() string {
	return [...]string{"covered", "drifted", "ownership lost", "other version"}[o]
}

// Drift is an applied field that others have changed or removed.
type Drift struct {
	Path string // such as spec.template.spec.containers[web].image

	// Manager, Operation and Subresource are the present owner; empty if the field was removed, or if the API server has
	// forgotten who took it.
	Manager, Operation, Subresource string

	// At is when the field was taken, at the latest; zero if unknown.
	At time.Time
}

// Scaled reports whether the field was taken through /scale, as autoscalers do. Such a field is left to its owner.
func (d Drift) Scaled() bool { return d.Subresource == "scale" }

// String returns the field with its owner.
func (d Drift) String() string {
	switch {
	case d.Manager == "":
		return d.Path + ", removed or taken by an unknown manager"
	case d.Subresource != "":
		return d.Path + ", taken by " + d.Manager + " through /" + d.Subresource
	case d.At.IsZero():
		return d.Path + ", taken by " + d.Manager
	}
	return d.Path + ", taken by " + d.Manager + " at " + d.At.UTC().Format(time.RFC3339) + " at the latest"
}

// Judge compares the entries of a child with its canonical tree. The drift is sorted by path, and empty unless the verdict is
// Drifted.
func Judge(entries []Entry, manager string, desired map[string]any) (Ownership, []Drift) {
	own := ownOf(entries, manager)
	switch {
	case own == nil:
		return Lost, nil
	case own.APIVersion != text(desired["apiVersion"]):
		return OtherVersion, nil
	}
	covered := cover(own.fields, desired)
	lost := covered.missing
	for _, whole := range covered.whole {
		lost = append(lost, takenWithin(entries, own, whole)...)
	}
	if lost == nil {
		return Covered, nil
	}
	var drift []Drift
	for _, path := range lost {
		drift = append(drift, takenBy(entries, own, path))
	}
	slices.SortFunc(drift, func(a, b Drift) int { return strings.Compare(a.Path, b.Path) })
	return Drifted, slices.CompactFunc(drift, func(a, b Drift) bool { return a.Path == b.Path }) // the fields of an atomic map
}

// takenWithin returns the fields that others own within a map or a list that our entry has without contents. Either the value is
// atomic, and nothing within it has an owner. Or its schema is unknown, and our entry had contents before others took them.
func takenWithin(entries []Entry, own *Entry, whole part) []fieldPath {
	var all []fieldPath
	for i := range entries {
		if &entries[i] != own {
			all = append(all, held(entries[i].at(whole.at), whole.value, whole.at)...)
		}
	}
	return all
}

// at returns the part of an entry at a path; nil if there is none.
func (e *Entry) at(path fieldPath) map[string]any {
	fields := e.fields
	for _, s := range path {
		fields, _ = below(fields, s)
	}
	return fields
}

// ancient is the manager under which the API server collects old entries if there are many.
const ancient = "ancient-changes"

// takenBy finds the present owner of a field. If several own it, the owner through /scale counts, or else the latest.
func takenBy(entries []Entry, own *Entry, path fieldPath) Drift {
	d := Drift{Path: path.String()}
	for i := range entries {
		e := &entries[i]
		if e == own || d.Scaled() || e.Subresource != "scale" && e.Time.Before(d.At) {
			continue
		}
		length, found := e.reach(path)
		if !found || e.Manager == ancient {
			continue
		}
		d = Drift{Path: path[:length].String(), Manager: e.Manager, Operation: e.Operation, Subresource: e.Subresource, At: e.Time}
	}
	return d
}

// reach reports whether an entry has the field at a path, or an atomic value that contains the field. It also returns the number
// of steps to the field or to the atomic value.
func (e *Entry) reach(path fieldPath) (int, bool) {
	fields := e.fields
	for i, s := range path {
		sub, found := below(fields, s)
		if !found {
			return i, i > 0 && len(fields) == 0
		}
		fields = sub
	}
	return len(path), true
}
