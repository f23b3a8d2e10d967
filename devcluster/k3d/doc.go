// Package k3d is the backend of package devcluster for clusters in containers: K3s in a Docker
// engine, by the library of k3d.
//
// A cluster has one node, the container k3d-kopf-NAME-server-0, in a network of its own. Its API
// server listens on a port of 127.0.0.1. The cluster keeps running when the process that created
// it ends, so that any process may use it.
//
// What kopf knows about a cluster is its record, in $XDG_STATE_HOME/kopf/k3d/NAME (or
// ~/.local/state/kopf/k3d/NAME), next to its private kubeconfig. The record is written before
// the first container is created, and says so until the cluster is usable: whatever interrupts a
// creation, the next command deletes the rest. A lock for each name, which the kernel releases
// when a process ends, keeps processes apart.
//
// The library of k3d calls os.Exit, writes to standard error, and treats an engine that does not answer as empty. So
// each operation first connects to the engine itself, in the same way as the library, and reports the problem.
// Containers are only touched if the engine says that they belong to the cluster of the record.
package k3d
