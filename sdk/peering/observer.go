package peering

import "time"

// Observer keeps operators whose clocks differ from taking each other for dead. When a record is renewed
// while it watches, it counts the lifetime from that moment by its own clock. Of a record that it sees for
// the first time, it has only the time that the peer has written; times in the future count as now. The zero
// value is ready to use. It is for one goroutine.
type Observer struct {
	known map[string]observed
}

type observed struct {
	lastSeen string // as it is written in the object, in any format
	lifetime time.Duration
	deadline time.Time
}

// Peers is [ParsePeers] with deadlines by the clock of the observer.
func (o *Observer) Peers(status map[string]any, now time.Time) []Peer {
	peers := ParsePeers(status, now)
	known := make(map[string]observed, len(peers))
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
		known[p.Identity] = observed{lastSeen: lastSeen, lifetime: p.Lifetime, deadline: p.Deadline}
	}
	o.known = known
	return peers
}
