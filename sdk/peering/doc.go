// Package peering has the records by which operators of the same objects know of each other, and a client
// for tools that read and write them. The objects are the KopfPeering and ClusterKopfPeering of Kopf for
// Python: operators in both languages pause each other.
//
// The status of a peering object has one record for each operator under its identity:
//
//	status:
//	  alice@laptop/20260131120000/x7f:
//	    priority: 100
//	    lifetime: 60
//	    lastseen: "2026-01-31T12:34:56.789012+00:00"
//
// An operator renews its record before the lifetime is over, and removes it when it stops. Of those that
// are there, only the one with the highest priority handles objects: see [Decide].
//
// Operators need nothing of this package: they are configured with kopf.Settings. See [Peering].
//
// [Peering]: https://github.com/kopf-dev/kopf/blob/main/docs/peering.md
package peering
