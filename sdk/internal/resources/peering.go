package resources

import "slices"

// Plurals of the resources of peering objects.
const (
	ClusterPeerings    = "clusterkopfpeerings" // used by operators that serve the cluster
	NamespacedPeerings = "kopfpeerings"        // used by operators that serve namespaces
)

// peeringGroups are the API groups of peering objects, the preferred one first: operators of before 2021
// have the other one.
var peeringGroups = []string{"kopf.dev", "zalando.org"}

// Peerings returns the resources of peering objects, namespaced or not: one for each API group that the cluster has, the
// preferred one first. Operators take part in all of them.
func Peerings(all []Resource, namespaced bool) []*Resource {
	plural := ClusterPeerings
	if namespaced {
		plural = NamespacedPeerings
	}
	var found []*Resource
	for _, group := range peeringGroups {
		i := slices.IndexFunc(all, func(r Resource) bool {
			return r.Group == group && r.Version == "v1" && r.Plural == plural && r.Namespaced == namespaced
		})
		if i >= 0 {
			found = append(found, &all[i])
		}
	}
	return found
}
