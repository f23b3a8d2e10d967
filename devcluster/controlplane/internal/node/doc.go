// Package node simulates a node of a cluster: it makes the scheduler's and the kubelet's changes to pods, without
// running containers.
//
//   - It binds pods without a node to this one, unless they name another scheduler.
//   - A bound pod becomes Running and Ready. If its restartPolicy is not Always, as in jobs,
//     it becomes Succeeded at once.
//   - It completes the deletion of pods without waiting for a grace period.
//
// All decisions depend on the pod objects only, so that they continue after a restart.
package node

// Name is the name of the node.
const Name = "simulated-node"
