// Package node simulates a node of a cluster: what the scheduler and the kubelet would tell about pods,
// with no container behind it.
//
//   - A pod without a node is bound to this one, unless it asks for another scheduler.
//   - A bound pod becomes Running and Ready; one that is not to be restarted
//     (those of jobs) is Succeeded at once.
//   - A pod that is being deleted is gone as soon as its finalizers are.
//
// All of it follows from the pods as they are, so that a restart continues where the last process ended.
package node

// Name is the name of the node.
const Name = "simulated-node"
