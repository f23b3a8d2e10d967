package core

import (
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/leases"
)

// LeaseStats are the counters of one replica's leases for the metrics. They are safe for concurrent use.
type LeaseStats struct {
	Shards leases.Stats

	Leads   atomic.Bool
	Elected atomic.Int64 // number of times that this replica became the leader
	Lost    atomic.Int64 // number of times that this replica lost the lease
}
