package peers

import (
	"maps"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// ownRecord is the operator's record in a peering object. Replicas with the same identity, for example replicas that
// share a lease, share one record. Each overwrites the record; the field joined identifies the writer.
type ownRecord struct {
	identity string
	joined   time.Time
	lifetime time.Duration

	renewed time.Time            // time of this process's last write; zero if there is none
	others  map[string]time.Time // last sightings of other replicas' records, by the times at which the replicas joined

	restoring bool        // a removed record must be written again
	restored  []time.Time // times of restorations within the last lifetime
}

// maxRestored limits the restorations within a lifetime: a peer with a wrong clock may remove the record each time.
const maxRestored = 6

// leavingLifetime limits the lifetime of a record that a leaving replica keeps for other replicas: if they have left
// too, the record must not block other operators for long.
const leavingLifetime = 10 * time.Second

// wrote records that this process wrote the record.
func (r *ownRecord) wrote(now time.Time) { r.renewed, r.restoring = now, false }

// missing records that the peering object does not exist.
func (r *ownRecord) missing() { r.renewed, r.restoring, r.others = time.Time{}, false, nil }

// see reads the record in the object's status. It returns true if this process must restore the record, because a peer
// removed the record, or a leaving replica replaced it.
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
		r.others = nil // live replicas write their record again
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

// isShared reports whether another live replica may share the record.
func (r *ownRecord) isShared(now time.Time) bool {
	maps.DeleteFunc(r.others, func(_ string, seen time.Time) bool { return now.Sub(seen) >= r.lifetime })
	return len(r.others) > 0
}

func (r *ownRecord) peer(priority int, pause *peering.Pause, now time.Time) *peering.Peer {
	return &peering.Peer{Identity: r.identity, Priority: priority, Lifetime: r.lifetime, LastSeen: now, Since: r.joined, Pause: pause}
}

// leaving returns the record that a leaving replica keeps for the replicas that share it. The
// record has no joining time, and expires soon.
func (r *ownRecord) leaving(priority int, now time.Time) *peering.Peer {
	return &peering.Peer{Identity: r.identity, Priority: priority, Lifetime: min(leavingLifetime, r.lifetime), LastSeen: now}
}

// removal returns a JSON patch that the API server rejects unless this process was the last writer of the record.
func (r *ownRecord) removal() []patch.Op {
	path := patch.Pointer("status", r.identity)
	return []patch.Op{
		{Op: "test", Path: path + "/since", Value: object.FormatTime(r.joined)},
		{Op: "remove", Path: path},
	}
}
