package peers

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// see is read without the lock.
func (o *peeringObject) see(version *object.Object, deleted bool) {
	o.place.Lock()
	defer o.place.Unlock()
	o.read(version, deleted)
}

// read reads a version of the object, unless a newer one was read. The lock must be held.
func (o *peeringObject) read(version *object.Object, deleted bool) {
	if o.newest != nil && o.newest.UID == version.UID && object.Older(version.ResourceVersion, o.newest.ResourceVersion) {
		return
	}
	if deleted {
		o.vanish()
		if o.tenure.lapsed {
			o.work.Raise() // the object may exist again
		}
	} else {
		tree, err := version.Tree()
		if err != nil {
			o.verdict.logger.Warn("Cannot decode "+o.name.String()+"; ignoring what it says", observe.EventKey, observe.LogPeeringForbidden, "error", err)
		}
		appeared := o.newest == nil && o.own.renewed.IsZero()
		o.newest = version
		o.status, _ = tree["status"].(map[string]any)
		version.DropTree()
		if o.own.see(o.status, time.Now()) || appeared {
			o.work.Raise()
		}
	}
	if o.lost {
		o.lost, o.grace = false, time.Now().Add(min(peeringGrace, o.settings.Lifetime))
	}
	o.decide()
}

// vanish records that the object does not exist. The lock must be held.
func (o *peeringObject) vanish() {
	o.newest, o.status, o.peers = nil, nil, nil
	o.own.missing()
	o.tenure.vacate()
}

func (o *peeringObject) setListed() {
	o.place.Lock()
	defer o.place.Unlock()
	o.listed, o.forbidden = true, nil
	o.decide()
}

// interrupted records why the stream of the object was interrupted.
func (o *peeringObject) interrupted(r watch.Restart) {
	o.place.Lock()
	defer o.place.Unlock()
	switch r.Reason {
	case watch.Forbidden:
		if o.forbidden == nil && o.newest != nil {
			o.verdict.logger.Warn("Cannot watch "+o.name.String()+" (forbidden): noticing other operators only with each keep-alive. Permit to list and watch it",
				observe.EventKey, observe.LogPeeringForbidden, "error", r.Err)
		}
		o.forbidden = r.Err
		if o.newest == nil {
			o.decide() // an outdated version does not show the current peers
		}
	case watch.Dropped, watch.Silent, watch.Unavailable:
		o.lost = o.lost || r.Attempt > 1
	}
}

// decide pauses or resumes the operator. The lock must be held.
func (o *peeringObject) decide() {
	if now := time.Now(); o.newest != nil {
		o.peers = o.observer.Peers(o.status, now)
		o.decideBetween(peering.Decide(o.peers, o.own.identity, o.settings.Priority, now), now)
		observe.Emit(o.deps.Sink, observe.PeersChanged{Peering: o.inspected(now)})
	}
	o.place.decideAbsent()
}

// decideBetween decides while the object exists. The lock must be held.
func (o *peeringObject) decideBetween(d peering.Decision, now time.Time) {
	o.dead = nil
	spared := now.Before(o.grace)
	if spared && o.verdict.pause != nil && !d.Paused() {
		o.arm(o.grace, now)
		return
	}
	for i := range d.Dead {
		if identity := d.Dead[i].Identity; !spared && identity != o.own.identity {
			o.dead = append(o.dead, &peering.Peer{Identity: identity})
		}
	}
	if o.verdict.between(&d, now) || len(o.dead) > 0 {
		o.work.Raise() // the record contains the pause
	}
	o.arm(d.Next(), now)
}

// arm schedules the next keep-alive for when the record of a peer may have expired, because only the response has a fresh
// version of the object. A zero time cancels it. The lock must be held.
func (o *peeringObject) arm(next, now time.Time) {
	stopTimer(o.alarm)
	if !next.IsZero() {
		o.alarm = time.AfterFunc(max(0, next.Sub(now)), o.work.Raise)
	}
}
