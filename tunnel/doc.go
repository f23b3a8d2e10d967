// Package tunnel lets the API server of a cluster reach the admission handlers of an operator that runs on
// this machine: a [Way] brings connections in, a [Forwarder] passes the reviews on to the operator that runs just
// now, and [Open] chooses the way and proves that it works.
//
// Programs with handlers do not import it: it belongs to the tool.
package tunnel
