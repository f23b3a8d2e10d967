// Package devcluster provides Kubernetes clusters for developing operators.
//
// kopf run and kopf dev call [Open]: it chooses a provider, starts the cluster if necessary,
// and returns it with the reason for the choice. [Cluster.Close] stops the cluster only if
// Open has started it.
//
// There are three providers. "embedded" is a real control plane in one process on this
// machine; its program is built from devcluster/controlplane on first use. "k3d" is K3s in a
// container; it is only available in programs that set its [Backend]. "context" is a cluster
// of the user's kubeconfig. The user's kubeconfig is only read; the other clusters have their
// own, in their state directories under $XDG_STATE_HOME/kopf (or ~/.local/state/kopf).
//
// Each project, which is the module of a folder ([ProjectOf]), has a cluster of its own. A cluster with a name of the user's choice belongs to no project.
//
// # Who owns an embedded cluster
//
// A cluster is either detached ([Start] and [Create]: the cluster runs until it is stopped) or a child (Open: the
// cluster ends with the opening process, even if the process is killed). Any process may use a detached cluster. A
// child is never shared, because it may end at any time: Open then starts a cluster with the next free name, such as
// hello-2, and reports that in [Cluster.Reason]. If the name was requested explicitly, Open fails with [ErrInUse]
// instead.
//
// A cluster of k3d is always detached.
package devcluster
