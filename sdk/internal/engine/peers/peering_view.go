package peers

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// see reads a version of the object, unless a newer one was read.
func (o *peeringObject) see(version *object.Object, deleted bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.newest != nil && o.newest.UID == version.UID && object.Older(version.ResourceVersion, o.newest.ResourceVersion) {
		return
	}
	appeared := o.newest == nil && !deleted && o.own.renewed.IsZero()
	o.newest, o.status = nil, nil
	if !deleted {
		tree, err := version.Tree()
		if err != nil {
			o.verdict.logger.Warn("Cannot decode "+o.String()+"; ignoring what it says", observe.EventKey, observe.LogPeeringForbidden, "error", err)
		}
		o.newest = version
		o.status, _ = tree["status"].(map[string]any)
		version.DropTree()
	} else {
		o.own.missing()
		o.tenure.vacate()
		if o.tenure.lapsed {
			o.work.Raise() // the object may exist again
		}
	}
	if o.lost {
		o.lost, o.grace = false, time.Now().Add(min(peeringGrace, o.settings.Lifetime))
	}
	if o.own.see(o.status, time.Now()) || appeared {
		o.work.Raise()
	}
	o.decide()
}

// exists reports whether the last known version of the object exists.
func (o *peeringObject) exists() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.newest != nil
}

// gone records that the object does not exist. If that is wrong, the next keep-alive succeeds.
func (o *peeringObject) gone() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.newest != nil {
		o.newest, o.status = nil, nil
		o.own.missing()
		o.decide()
	}
	o.tenure.vacate()
}

// checkTenure is called when the operator's record expires.
func (o *peeringObject) checkTenure() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tenure.check()
}

// actAgain ends the pause after the operator's record had expired. It returns false if the request was sent too long
// ago, so that its response is outdated.
func (o *peeringObject) actAgain(sent time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tenure.resume(sent)
}

func (o *peeringObject) setListed() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.listed, o.forbidden = true, nil
	o.decide()
}

// interrupted records why the stream of the object was interrupted.
func (o *peeringObject) interrupted(r watch.Restart) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch r.Reason {
	case watch.Forbidden:
		if o.forbidden == nil && o.newest != nil {
			o.verdict.logger.Warn("Cannot watch "+o.String()+" (forbidden): noticing other operators only with each keep-alive. Permit to list and watch it",
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
	now := time.Now()
	o.peers = o.observer.Peers(o.status, now)
	d := peering.Decide(o.peers, o.own.identity, o.settings.Priority, now)
	hidden := false
	switch {
	case o.newest != nil:
		o.place.found(o, present)
		o.decideBetween(d, now)
	case o.forbidden != nil || o.listed:
		o.place.found(o, absent)
		known, missing := o.place.absence(o)
		if !known {
			return
		}
		if o.forbidden != nil {
			o.verdict.forbidden(o.String(), missing, o.settings.Mandatory, o.forbidden)
		} else {
			o.verdict.missing(o.String(), missing, o.settings.Mandatory)
		}
		hidden = !missing
	default:
		return
	}
	observe.Emit(o.deps.Sink, observe.PeersChanged{Peering: o.inspected(now), Left: hidden})
}

// reconsider decides again, after the presence of another object of the place changed.
func (o *peeringObject) reconsider() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.newest == nil && o.ctx.Err() == nil {
		o.decide()
	}
}

// decideBetween decides while the object exists. The lock must be held.
func (o *peeringObject) decideBetween(d peering.Decision, now time.Time) {
	o.dead = nil
	next := d.Next()
	if now.Before(o.grace) {
		if o.verdict.pause != nil && !d.Paused() {
			o.arm(o.grace, now)
			return
		}
	} else {
		for i := range d.Dead {
			if identity := d.Dead[i].Identity; identity != o.own.identity {
				o.dead = append(o.dead, identity)
			}
		}
	}
	if len(o.dead) > 0 {
		o.work.Raise()
	}
	if o.verdict.between(&d, now) {
		o.work.Raise() // the record contains the pause
	}
	o.arm(next, now)
}

// arm schedules the next keep-alive for when the record of a peer may have expired, because only the response has a fresh
// version of the object. A zero time cancels it. The lock must be held.
func (o *peeringObject) arm(next, now time.Time) {
	if o.alarm != nil {
		o.alarm.Stop()
	}
	if !next.IsZero() {
		o.alarm = time.AfterFunc(max(0, next.Sub(now)), o.work.Raise)
	}
}
