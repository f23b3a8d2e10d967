package peering

import (
	"slices"
	"time"
)

// Decision sorts the peers of an operator by their effect on it.
type Decision struct {
	Higher []Peer // peers with a higher priority, which pause the operator
	Equal  []Peer // peers with the same priority, which pause the operator and themselves
	Lower  []Peer // peers with a lower priority, which pause themselves
	Dead   []Peer // expired records to remove, including the operator's own
}

// Decide returns the decision for the operator with an identity and a priority.
func Decide(peers []Peer, identity string, priority int, now time.Time) Decision {
	var d Decision
	for _, peer := range peers {
		switch {
		case peer.IsDead(now):
			d.Dead = append(d.Dead, peer)
		case peer.Identity == identity:
		case peer.Priority > priority:
			d.Higher = append(d.Higher, peer)
		case peer.Priority == priority:
			d.Equal = append(d.Equal, peer)
		default:
			d.Lower = append(d.Lower, peer)
		}
	}
	return d
}

// Paused reports whether the operator has to pause.
func (d *Decision) Paused() bool { return len(d.Higher)+len(d.Equal) > 0 }

// Causes returns the peers that make the operator pause: the peers with a higher priority, or else the peers with the
// same priority.
func (d *Decision) Causes() []Peer {
	if len(d.Higher) > 0 {
		return d.Higher
	}
	return d.Equal
}

// Next returns the time when the first record of the Higher and Equal peers expires, unless it is renewed. Then the
// decision must be made again. Next is zero if there are no such peers.
func (d *Decision) Next() time.Time {
	var next time.Time
	for _, peer := range slices.Concat(d.Higher, d.Equal) {
		if next.IsZero() || peer.Deadline.Before(next) {
			next = peer.Deadline
		}
	}
	return next
}

// Until returns the time when the records of all Higher and Equal peers have expired, unless they are renewed. The operator
// resumes then. Until is zero if the operator is not paused.
func (d *Decision) Until() time.Time {
	var until time.Time
	for _, peer := range slices.Concat(d.Higher, d.Equal) {
		if peer.Deadline.After(until) {
			until = peer.Deadline
		}
	}
	return until
}

// IsActive reports whether a peer handles the objects: no other live peer has the same or a higher priority.
func IsActive(peer *Peer, all []Peer, now time.Time) bool {
	d := Decide(all, peer.Identity, peer.Priority, now)
	return !peer.IsDead(now) && !d.Paused()
}

// KeepAlive returns how long to wait before renewing a record with a lifetime. The jitter is a random number from 0 to 5,
// both included; it spreads the renewals of many peers.
func KeepAlive(lifetime time.Duration, jitter int) time.Duration {
	return max(time.Second, lifetime.Truncate(time.Second)-time.Duration(5+jitter)*time.Second)
}
