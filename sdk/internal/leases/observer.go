package leases

import "time"

// observer determines the leases that other replicas hold. A lease counts as held for its duration after its version
// was first seen here. The times in the lease are ignored, because the clocks of replicas differ.
type observer struct{ seen map[string]observed }

// observed is a version of a lease.
type observed struct {
	lease Lease
	at    time.Time // time when the version was first seen
}

// observe notes all leases of a list. Now is the time of the response.
func (o *observer) observe(all []Lease, now time.Time) {
	before := o.seen
	o.seen = make(map[string]observed, len(all))
	for _, lease := range all {
		if known, ok := before[lease.Name]; ok && known.lease.Version == lease.Version {
			o.seen[lease.Name] = known
			continue
		}
		o.seen[lease.Name] = observed{lease, now}
	}
	for name, known := range before {
		// The lease of a shard is only deleted by hand: its holder may not know yet.
		_, exists := o.seen[name]
		if _, isShard := shardOf(known.lease); isShard && !exists && known.held(now) {
			known.lease.Version = ""
			o.seen[name] = known
		}
	}
}

// held reports whether the lease is valid.
func (o observed) held(now time.Time) bool {
	return o.lease.Holder != "" && now.Before(o.at.Add(o.lease.Duration))
}
