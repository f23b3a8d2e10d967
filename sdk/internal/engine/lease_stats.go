package engine

import (
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/leases"
)

// leaseStats is what the metrics tell of one of several replicas. It is safe for concurrent use.
type leaseStats struct {
	shards leases.Stats

	leads         atomic.Bool
	elected, lost atomic.Int64 // how many times it began to lead, and lost its lease
}
