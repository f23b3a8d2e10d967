// Package devcluster hands out Kubernetes clusters to develop operators with.
//
// [Open] is what kopf run and kopf dev call: it chooses a provider, sees to it that the
// cluster is up, and tells which one it is and why. What Open has started, and nothing
// else, is stopped by [Cluster.Close].
//
// There are two providers. "embedded" is a real control plane in one process on this
// machine: the binary built from devcluster/controlplane, which is built on first use.
// "context" is a cluster of the user's kubeconfig. The user's kubeconfig is only ever
// read; the clusters of this package have their own, in their state directories under
// $XDG_STATE_HOME/kopf/clusters (or ~/.local/state/kopf/clusters).
//
// # Who owns an embedded cluster
//
// A cluster is either detached ([Start], [Create]: it lives until it is stopped) or a
// child (Open: it ends with the process that opened it, however that ends).
// Another process may use a detached cluster at any time. It never uses a child of
// somebody else, because that one ends at a moment of its own; Open then starts a
// cluster of the next free name, such as dev-2, and says so in [Cluster.Reason].
// Only a name that was asked for explicitly is refused with [ErrInUse] instead.
package devcluster
