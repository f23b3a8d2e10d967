// Package peering has the records by which operators of the same objects discover each other, and a client for tools
// that read and write the records. The kinds KopfPeering and ClusterKopfPeering are the same as in Kopf for Python, so
// operators in both languages pause each other.
//
// The status of a peering object has one record for each operator, under the operator's identity:
//
//	status:
//	  alice@laptop/20260131120000/x7f:
//	    priority: 100
//	    lifetime: 60
//	    lastseen: "2026-01-31T12:34:56.789012+00:00"
//
// An operator renews its record before the lifetime is over, and removes it when it stops. Only the operator with the
// highest priority handles objects: see [Decide].
//
// Operators do not use this package; kopf.Settings configures their peering. See [Peering].
//
// [Peering]: https://github.com/kopf-dev/kopf/blob/main/docs/peering.md
package peering
