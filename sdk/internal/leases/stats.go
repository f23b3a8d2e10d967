package leases

import "sync/atomic"

// Stats counts the leases of shards of a replica: it holds those that it has acquired and neither released nor
// lost. It is safe for concurrent use.
type Stats struct{ Acquired, Released, Lost atomic.Int64 }
