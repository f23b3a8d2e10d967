// Package devcluster provides Kubernetes clusters for developing operators.
//
// kopf run and kopf dev call [Open]: it chooses a provider, starts the cluster if necessary,
// and returns it with the reason for the choice. [Cluster.Close] stops the cluster only if
// Open has started it.
//
// There are two providers. "embedded" is a real control plane in one process on this
// machine; its program is built from devcluster/controlplane on first use. "context" is a
// cluster of the user's kubeconfig. The user's kubeconfig is only read; embedded clusters
// have their own, in their state directories under $XDG_STATE_HOME/kopf/clusters (or
// ~/.local/state/kopf/clusters).
//
// Each project, which is the module of a folder ([ProjectOf]), has an embedded cluster of its
// own. A cluster with a name of the user's choice belongs to no project.
//
// # Who owns an embedded cluster
//
// A cluster is either detached ([Start] and [Create]: it runs until it is stopped) or a
// child (Open: it ends with the process that opened it, even if that is killed). Any
// process may use a detached cluster. A child is never shared, because it may end at any
// time: Open then starts a cluster with the next free name, such as hello-2, and says so in
// [Cluster.Reason]. If the name was requested explicitly, it fails with [ErrInUse] instead.
package devcluster
