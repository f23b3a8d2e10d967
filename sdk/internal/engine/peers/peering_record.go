package peers

import (
	"maps"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// ownRecord is the operator's record in a peering object. Replicas with the same identity, such as those of one
// lease, share it: each writes it over that of the others, and the time at which a replica joined tells whose
// it is.
type ownRecord struct {
	identity string
	joined   time.Time
	lifetime time.Duration

	renewed time.Time            // when this process has written it last; zero if it has not
	others  map[string]time.Time // replicas that share it: when they joined → when their record was seen last

	restoring bool        // a removed record was not written again yet
	restored  []time.Time // when that was decided, within the last lifetime
}

// maxRestored limits how often the record is written again within its lifetime: a peer with a wrong clock may remove
// it each time.
const maxRestored = 6

// leavingLifetime limits how long a record counts that a replica leaves to the others: if they have left, too,
// it should not hold up anybody for long.
const leavingLifetime = 10 * time.Second

// wrote notes that this process has written the record.
func (r *ownRecord) wrote(now time.Time) { r.renewed, r.restoring = now, false }

// missing notes that the object does not exist.
func (r *ownRecord) missing() { r.renewed, r.restoring, r.others = time.Time{}, false, nil }

// see takes notice of what the object's status has of the record. It returns true if the record has to be
// written again, because another peer has removed it, or because a replica that shares it has left.
func (r *ownRecord) see(status map[string]any, now time.Time) bool {
	record, there := status[r.identity].(map[string]any)
	if since, _ := record["since"].(string); since != "" {
		if since != object.FormatTime(r.joined) {
			if r.others == nil {
				r.others = map[string]time.Time{}
			}
			r.others[since] = now
		}
		return false
	}
	if there {
		r.others = nil // who lives writes its record again
	}
	if r.renewed.IsZero() || r.restoring {
		return false
	}
	r.restored = slices.DeleteFunc(r.restored, func(at time.Time) bool { return now.Sub(at) >= r.lifetime })
	if len(r.restored) >= maxRestored {
		return false
	}
	r.restoring, r.restored = true, append(r.restored, now)
	return true
}

// isShared reports whether another replica may be alive that shares the record.
func (r *ownRecord) isShared(now time.Time) bool {
	maps.DeleteFunc(r.others, func(_ string, seen time.Time) bool { return now.Sub(seen) >= r.lifetime })
	return len(r.others) > 0
}

// peer returns the record as it is now.
func (r *ownRecord) peer(priority int, pause *peering.Pause, now time.Time) *peering.Peer {
	return &peering.Peer{Identity: r.identity, Priority: priority, Lifetime: r.lifetime, LastSeen: now, Since: r.joined, Pause: pause}
}

// leaving returns the record that a replica leaves to others that share it: it belongs to none of them, and
// soon expires.
func (r *ownRecord) leaving(priority int, now time.Time) *peering.Peer {
	return &peering.Peer{Identity: r.identity, Priority: priority, Lifetime: min(leavingLifetime, r.lifetime), LastSeen: now}
}

// removal returns the patch that removes the record if this process has written it. Otherwise, the server
// rejects it.
func (r *ownRecord) removal() []patch.Op {
	path := patch.Pointer("status", r.identity)
	return []patch.Op{
		{Op: "test", Path: path + "/since", Value: object.FormatTime(r.joined)},
		{Op: "remove", Path: path},
	}
}
