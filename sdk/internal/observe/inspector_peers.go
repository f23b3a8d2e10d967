package observe

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// withPeering returns a sorted copy of the peering objects with the new state of one object.
func withPeering(all []inspect.Peering, e PeersChanged) []inspect.Peering {
	compare := func(a, b inspect.Peering) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
	}
	rest := slices.DeleteFunc(slices.Clone(all), func(p inspect.Peering) bool { return compare(p, e.Peering) == 0 })
	if !e.Left {
		rest = append(rest, e.Peering)
	}
	sort.Slice(rest, func(i, j int) bool { return compare(rest[i], rest[j]) < 0 })
	return rest
}
