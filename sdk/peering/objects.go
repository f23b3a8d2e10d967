package peering

// The kinds of peering objects. A cluster can have them in two API groups: kopf.dev and, for operators from before 2021,
// zalando.org.
const (
	NamespacedKind  = "KopfPeering"        // used by operators that serve namespaces
	ClusterWideKind = "ClusterKopfPeering" // used by operators that serve the cluster
)

// Kind returns the kind of peering objects, namespaced or not.
func Kind(namespaced bool) string {
	if namespaced {
		return NamespacedKind
	}
	return ClusterWideKind
}
