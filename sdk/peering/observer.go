package peering

import (
	"maps"
	"time"
)

// Observer keeps operators whose clocks differ from taking each other for dead. When a record is renewed
// while it watches, it counts the lifetime from that moment by its own clock. Of a record that it sees for
// the first time, it has only the time that the peer has written; times in the future count as now. The zero
// value is ready to use. It is for one goroutine.
type Observer struct {
	known map[string]observed
}

// observed is the last record of an identity, which may be removed by now.
type observed struct {
	lastSeen string // verbatim from the object, in any format
	lifetime time.Duration
	deadline time.Time
	at       time.Time // time when the record was last present
}

// forgetAfter is how long the record of a departed peer is kept. A peer with a wrong clock may have removed it; if
// the departed peer writes the record again, it counts as renewed.
const forgetAfter = time.Hour

// Peers is [ParsePeers] with deadlines by the clock of the observer.
func (o *Observer) Peers(status map[string]any, now time.Time) []Peer {
	peers := ParsePeers(status, now)
	if o.known == nil {
		o.known = map[string]observed{}
	}
	for i := range peers {
		p := &peers[i]
		record := status[p.Identity].(map[string]any)
		lastSeen, _ := record["lastseen"].(string)
		before, seen := o.known[p.Identity]
		switch {
		case !seen && p.LastSeen.After(now):
			p.Deadline = now.Add(p.Lifetime)
		case !seen:
		case before.lastSeen == lastSeen && before.lifetime == p.Lifetime:
			p.Deadline = before.deadline
		default:
			p.Deadline = now.Add(p.Lifetime)
		}
		o.known[p.Identity] = observed{lastSeen: lastSeen, lifetime: p.Lifetime, deadline: p.Deadline, at: now}
	}
	maps.DeleteFunc(o.known, func(_ string, last observed) bool { return now.Sub(last.at) > forgetAfter })
	return peers
}
