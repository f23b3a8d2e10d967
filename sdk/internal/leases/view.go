package leases

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// view is a replica's snapshot of the other replicas.
type view struct {
	members []string // members with the replica's own division
	holders []string // holders of the division's shards; empty if free

	// foreign are the identities of replicas with another division. While one holds a shard, or while both
	// could begin, this replica must not hold any: the ranges of their shards overlap.
	foreign     []string
	foreignHeld bool
}

// viewOf sorts the leases that a replica sees.
func viewOf(seen map[string]observed, d shards.Division, now time.Time) view {
	v := view{holders: make([]string, d.Shards)}
	mine := divisionValue(d)
	for _, o := range seen {
		if !o.held(now) {
			continue
		}
		shard, isShard := shardOf(o.lease)
		switch own := o.lease.Labels[divisionLabel] == mine; {
		case isShard && own && shard < d.Shards:
			v.holders[shard] = o.lease.Holder
		case isShard:
			v.foreignHeld = true
		case own:
			v.members = append(v.members, o.lease.Holder)
		default:
			v.foreign = append(v.foreign, o.lease.Holder)
		}
	}
	return v
}

// mayAcquire reports whether the replica may begin to hold shards, and whether it may only if this stays so
// for the duration of a lease.
//
// A replica lists the leases after it has written its own. So if two with different divisions start at the
// same moment, at least one sees the other. Where only one does, the other begins, and holds shards before
// the time is over.
func (v view) mayAcquire(me string) (allowed, afterDelay bool) {
	switch {
	case v.foreignHeld:
		return false, false
	case slices.ContainsFunc(v.holders, func(h string) bool { return h != "" }):
		return true, false // others with this division hold shards: no other division begins
	case len(v.foreign) == 0:
		return true, false
	}
	return me < slices.Min(v.foreign), true
}

// expired returns the leases of departed replicas.
func expired(seen map[string]observed, now time.Time) []Lease {
	var gone []Lease
	for _, o := range seen {
		if _, isShard := shardOf(o.lease); !isShard && o.lease.Version != "" && !o.held(now) {
			gone = append(gone, o.lease)
		}
	}
	return gone
}
