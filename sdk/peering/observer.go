package peering

import (
	"maps"
	"time"
)

// Observer determines the deadlines of records by its own clock, so that operators with different clocks do not regard
// each other as expired. When it sees that a record was renewed, the lifetime starts at the observer's current time. For
// a record that it sees for the first time, it uses the time that the peer wrote; a time in the future counts as the
// current time. The zero value is ready to use. It must be used by one goroutine.
type Observer struct {
	known map[string]observed
}

// observed is the last record of an identity. The peer may have removed the record.
type observed struct {
	lastSeen string // verbatim from the object, in any format
	lifetime time.Duration
	deadline time.Time
	at       time.Time // time when the record was last present
}

// forgetAfter is how long the observer remembers a removed record. Another peer with a wrong clock may have removed it. If
// the record returns, it counts as renewed.
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
