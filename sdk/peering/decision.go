package peering

import (
	"slices"
	"time"
)

// Decision is what the records mean to one of the operators.
type Decision struct {
	Higher []Peer // with a higher priority: the operator gives way to them
	Equal  []Peer // with the same priority: all of them pause
	Lower  []Peer // with a lower priority: they give way to the operator
	Dead   []Peer // records that do not count anymore and should be removed; also that of the operator itself
}

// Decide returns what the records mean to the operator with an identity and a priority.
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

// Causes returns the peers that make the operator pause: those with a higher priority, or else those with
// the same one.
func (d *Decision) Causes() []Peer {
	if len(d.Higher) > 0 {
		return d.Higher
	}
	return d.Equal
}

// Next returns when the first record of a peer that the operator gives way to expires, unless it is renewed:
// then it must be decided again. It is zero if there is none.
func (d *Decision) Next() time.Time {
	var next time.Time
	for _, peer := range slices.Concat(d.Higher, d.Equal) {
		if next.IsZero() || peer.Deadline.Before(next) {
			next = peer.Deadline
		}
	}
	return next
}

// Until returns when the last of these records expires, unless it is renewed: then the operator resumes. It
// is zero if the operator is not paused.
func (d *Decision) Until() time.Time {
	var until time.Time
	for _, peer := range slices.Concat(d.Higher, d.Equal) {
		if peer.Deadline.After(until) {
			until = peer.Deadline
		}
	}
	return until
}

// IsActive reports whether a peer is the one that handles objects: no other that is alive has its priority
// or a higher one.
func IsActive(peer *Peer, all []Peer, now time.Time) bool {
	d := Decide(all, peer.Identity, peer.Priority, now)
	return !peer.IsDead(now) && !d.Paused()
}

// KeepAlive returns how long to wait before a record with a lifetime is renewed. The jitter spreads the
// renewals of many peers; it is a random number from 0 to 5, both included.
func KeepAlive(lifetime time.Duration, jitter int) time.Duration {
	return max(time.Second, lifetime.Truncate(time.Second)-time.Duration(5+jitter)*time.Second)
}
