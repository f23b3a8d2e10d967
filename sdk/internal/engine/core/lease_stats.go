package core

import (
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/leases"
)

// LeaseStats is what the metrics tell of one of several replicas. It is safe for concurrent use.
type LeaseStats struct {
	Shards leases.Stats

	Leads         atomic.Bool
	Elected, Lost atomic.Int64 // how many times it began to lead, and lost its lease
}
