package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Brake is a resource whose objects keep children, because the operator has stopped pruning.
type Brake struct {
	Resource string // key of the resource of the objects
	Kept     []KeptChildren
}

// KeptChildren are the children of a kind that the brake keeps.
type KeptChildren struct {
	Plural  string // plural of the children's resource
	Objects int    // number of objects that keep such children
}

// Brakes returns the resources whose objects keep children, sorted by their keys. Kind is the kind, the plural or the short name of
// the only resource to return; it is empty for all resources.
func Brakes(s *inspect.Snapshot, kind string) []Brake {
	var all []Brake
	for i := range s.Operator.Alarms {
		a := &s.Operator.Alarms[i]
		if a.Kind != inspect.AlarmBrake || a.Object == nil || kind != "" && !isResourceNamed(s, a.Object.Resource, kind) {
			continue
		}
		plural, _, _ := strings.Cut(a.Resource, ".")
		kept := KeptChildren{Plural: plural, Objects: a.Count}
		if k := slices.IndexFunc(all, func(b Brake) bool { return b.Resource == a.Object.Resource }); k >= 0 {
			all[k].Kept = append(all[k].Kept, kept)
		} else {
			all = append(all, Brake{Resource: a.Object.Resource, Kept: []KeptChildren{kept}})
		}
	}
	slices.SortFunc(all, func(a, b Brake) int { return strings.Compare(a.Resource, b.Resource) })
	for _, b := range all {
		slices.SortFunc(b.Kept, func(a, b KeptChildren) int {
			return cmp.Or(strings.Compare(a.Plural, b.Plural), cmp.Compare(a.Objects, b.Objects))
		})
	}
	return all
}

// Brakes returns the resources whose objects keep children; none if the operator does not run.
func (s *State) Brakes() []Brake {
	if s.Snapshot == nil || !s.Live {
		return nil
	}
	return Brakes(s.Snapshot, "")
}

// isResourceNamed reports whether a word names a resource of an operator.
func isResourceNamed(s *inspect.Snapshot, key, word string) bool {
	o := inspect.Object{Ref: inspect.Ref{Resource: key}}
	for i := range s.Served {
		if s.Served[i].Key == key {
			o.Kind, o.Short = s.Served[i].Kind, s.Served[i].Short
		}
	}
	return inspect.IsNamed(&o, word)
}
