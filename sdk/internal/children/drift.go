package children

import (
	"slices"
	"strings"
	"time"
)

// Ownership is the verdict of [Judge] about the operator's entry in the managedFields of a child.
type Ownership int

// The verdicts. Each one except Covered is a reason to apply the child.
const (
	Covered      Ownership = iota // the entry has all desired fields
	Drifted                       // the entry lacks desired fields
	Lost                          // there is no entry, for example because a client has cleared managedFields
	OtherVersion                  // the entry has another API version, which a later CRD may no longer serve
)

// String implements [fmt.Stringer].
func (o Ownership) String() string {
	return [...]string{"covered", "drifted", "ownership lost", "other version"}[o]
}

// Drift is an applied field that others have changed or removed.
type Drift struct {
	Path string // such as spec.template.spec.containers[web].image

	// Manager, Operation and Subresource identify the present manager of the field. They are empty if the field was removed, or if
	// the API server no longer records the manager.
	Manager, Operation, Subresource string

	// At is the latest possible time of the change; zero if unknown.
	At time.Time
}

// Scaled reports whether the field was changed through /scale, as by autoscalers. Such a field stays with its manager.
func (d Drift) Scaled() bool { return d.Subresource == "scale" }

// String returns the path of the field and its present manager.
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

// Judge compares the managedFields of a child with the canonical tree of the desired child. The drift is sorted by path, and nil
// unless the verdict is Drifted.
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
	// takenBy returns the path of an atomic map once for each of its fields.
	return Drifted, slices.CompactFunc(drift, func(a, b Drift) bool { return a.Path == b.Path })
}

// takenWithin returns the fields that other managers own within a map or a list that the operator's entry has without its
// contents. There are none in an atomic value, because its fields have no managers. In a value without a schema, the entry had
// contents before other managers took them.
func takenWithin(entries []Entry, own *Entry, whole part) []fieldPath {
	var all []fieldPath
	for i := range entries {
		if &entries[i] != own {
			all = append(all, held(entries[i].at(whole.at), whole.value, whole.at)...)
		}
	}
	return all
}

// at returns the fields of an entry below a path; nil if the entry lacks the path.
func (e *Entry) at(path fieldPath) map[string]any {
	fields := e.fields
	for _, s := range path {
		fields, _ = below(fields, s)
	}
	return fields
}

// ancient is the manager to which the API server assigns the fields of old entries when it merges them.
const ancient = "ancient-changes"

// takenBy returns the drift of a field with its present manager. Of several managers, it prefers the manager through /scale, then
// the manager with the latest change.
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

// reach reports whether an entry has the field at a path, or an atomic value that contains the field. It also returns the length
// of the path to the field or the atomic value.
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
