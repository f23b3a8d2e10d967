package resources

import "slices"

// Plurals of the resources of peering objects.
const (
	ClusterPeerings    = "clusterkopfpeerings" // of operators that serve the cluster
	NamespacedPeerings = "kopfpeerings"        // of operators that serve namespaces
)

// peeringGroups are the API groups of peering objects, the preferred one first: operators of before 2021
// have the other one.
var peeringGroups = []string{"kopf.dev", "zalando.org"}

// Peerings returns the resource of peering objects, namespaced or not; nil if the cluster has none.
func Peerings(all []Resource, namespaced bool) *Resource {
	plural := ClusterPeerings
	if namespaced {
		plural = NamespacedPeerings
	}
	for _, group := range peeringGroups {
		i := slices.IndexFunc(all, func(r Resource) bool {
			return r.Group == group && r.Version == "v1" && r.Plural == plural && r.Namespaced == namespaced
		})
		if i >= 0 {
			return &all[i]
		}
	}
	return nil
}
