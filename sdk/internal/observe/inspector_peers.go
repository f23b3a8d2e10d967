package observe

import (
	"cmp"
	"sort"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// withPeering returns a sorted copy of the peering objects with the new state of one object.
func withPeering(all []inspect.Peering, e PeersChanged) []inspect.Peering {
	compare := func(a, b inspect.Peering) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Group, b.Group))
	}
	var rest []inspect.Peering
	for i := range all {
		if compare(all[i], e.Peering) != 0 {
			rest = append(rest, all[i])
		}
	}
	if !e.Left {
		rest = append(rest, e.Peering)
	}
	sort.Slice(rest, func(i, j int) bool { return compare(rest[i], rest[j]) < 0 })
	return rest
}
