// Package relay carries connections from inside a cluster to this machine over one stream.
//
// A [Server] runs in a pod. It accepts connections at a public port, and the stream of one client at a control
// port, which only the pod itself can reach: the client comes by a port-forward. The server opens a channel of
// the stream for each connection, and copies bytes: the TLS of the connections ends at the client.
//
// The stream begins with a line from each side, the client first, that names the protocol and its version. The frames
// of muxado follow, which multiplex the channels and limit the bytes in flight on each.
package relay
