// Package tunnel makes the admission handlers of an operator on this machine reachable for the API server of a
// cluster. A [Way] accepts connections from the cluster, a [Forwarder] passes the reviews on to the current operator,
// and [Open] chooses the way and checks that it works.
//
// Programs with handlers do not import it: it belongs to the tool.
package tunnel
