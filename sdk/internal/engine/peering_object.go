package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// Delays of the requests about peering.
const (
	peeringRetry    = time.Second      // between attempts that fail
	peeringRetryMax = 5 * time.Second  // to which that grows
	peeringGrace    = 10 * time.Second // for peers to renew their records when the API server is back
	peeringLeave    = 3 * time.Second  // limits the attempts to remove the operator's record
)

// peeringObject is one peering object that the operator takes part in. One goroutine reads it, another one
// writes to it; each calls decide. Times are those of the wall clock, which other operators have too.
type peeringObject struct {
	deps      *deps
	settings  *Peering
	client    *kube.Client // without retries: a record has the time at which it is sent
	resource  *resources.Resource
	namespace string
	verdict   peeringVerdict // guarded by mu
	place     *peeringPlace
	ctx       context.Context // ends when the operator leaves
	stop      context.CancelFunc
	handOver  func() bool   // whether the record stays; nil if it never does
	left      chan struct{} // closes when the operator does not take part anymore
	work      wakeup        // raised when there is something to write

	mu        sync.Mutex
	own       ownRecord
	tenure    tenure
	listed    bool           // it is known whether the object exists
	forbidden error          // why it cannot be read; nil if it can
	newest    *object.Object // nil if it does not exist
	status    map[string]any
	observer  peering.Observer
	peers     []peering.Peer
	dead      []string    // identities whose records should be removed
	lost      bool        // the API server did not answer the last request
	grace     time.Time   // until when no peer is taken for dead
	alarm     *time.Timer // decides again when a record may have expired
	unwritten bool        // a warning was logged that the record cannot be written
}

func newPeeringObject(d *deps, p *pauses, identity string, res *resources.Resource, namespace string, newTerm func()) *peeringObject {
	o := &peeringObject{
		deps: d, settings: &d.settings.Peering, client: d.client.WithoutRetries(), resource: res, namespace: namespace,
		work: newWakeup(), left: make(chan struct{}),
		own: ownRecord{identity: identity, joined: time.Now(), lifetime: d.settings.Peering.Lifetime},
	}
	o.verdict = peeringVerdict{
		pauses: p, logger: d.logger.With(observe.NameKey, "kopf.peering"),
		key: pauseKey{kind: inspect.PausePeering, name: o.String()},
	}
	o.tenure = tenure{
		pauses: p, key: pauseKey{kind: inspect.PausePeering, name: "record in " + o.String()}, newTerm: newTerm,
		logger: o.verdict.logger, object: o.String(), lifetime: max(time.Second, o.settings.Lifetime.Truncate(time.Second)),
	}
	return o
}

// String names the object in texts.
func (o *peeringObject) String() string {
	return (&inspect.Peering{Kind: peering.Kind(o.resource.Namespaced), Group: o.resource.Group, Namespace: o.namespace, Name: o.settings.Name}).String()
}

// assumeUnknown pauses the operator until its peers are known.
func (o *peeringObject) assumeUnknown() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.verdict.unknown("until the peers in " + o.String() + " are known")
}

// run takes part until the context ends. The operator writes its record before it looks at those of others:
// of two operators that start at the same time, one at least sees the other.
func (o *peeringObject) run(ctx context.Context) {
	defer close(o.left)
	o.announce(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { o.keepAlive(ctx) })
	watch.Run(ctx, watch.Options{
		Client: o.client, Resource: o.resource, Namespace: o.namespace,
		Handle: func(event watch.Event) {
			if event.Object.Name == o.settings.Name {
				o.see(event.Object, event.Type == watch.Deleted)
			}
		},
		Listed:            func(int) { o.setListed() },
		Restarted:         o.interrupted,
		ServerTimeout:     o.deps.settings.ServerTimeout,
		ClientTimeout:     o.deps.settings.ClientTimeout,
		InactivityTimeout: o.deps.settings.InactivityTimeout,
		ReconnectBackoff:  o.deps.settings.ReconnectBackoff,
		Logger:            o.deps.logger.With(observe.NameKey, "kopf.watching", observe.EventKey, observe.LogStreamDetail),
	})
	wg.Wait()
	o.end(ctx)
}

// announce writes the operator's record for the first time. It returns when that is done, or impossible.
func (o *peeringObject) announce(ctx context.Context) {
	for delay := peeringRetry; !o.renew(ctx); delay = min(2*delay, peeringRetryMax) {
		if sleep(ctx, delay) != nil {
			return
		}
	}
}

// keepAlive renews the record before it expires, and whenever there is something to write.
func (o *peeringObject) keepAlive(ctx context.Context) {
	delay := peeringRetry
	for written := true; ; {
		next := delay
		if written {
			next, delay = keepAlive(o.settings.Lifetime, rand.IntN(6)), peeringRetry
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-o.work:
			timer.Stop()
		case <-timer.C:
		}
		o.clean(ctx)
		if written = o.renew(ctx); !written {
			delay = min(2*delay, peeringRetryMax)
		}
	}
}

// keepAlive is [peering.KeepAlive], but early enough for a second request if the first one is not answered.
func keepAlive(lifetime time.Duration, jitter int) time.Duration {
	return min(peering.KeepAlive(lifetime, jitter), lifetime*2/3)
}

// renew writes the operator's record. It returns false if that should be tried again soon. If the record had expired, the
// operator acts again only after the response, which has the newest version of the object, was looked at.
func (o *peeringObject) renew(ctx context.Context) bool {
	self := o.record()
	patched, err := o.write(ctx, "", map[string]*peering.Peer{self.Identity: self})
	if ctx.Err() != nil {
		return true
	}
	o.tellKeepAlive(err)
	o.mu.Lock()
	o.tenure.failure = err
	o.mu.Unlock()
	switch {
	case err == nil:
		o.mu.Lock()
		o.own.wrote(self.LastSeen)
		o.tenure.renew(self.LastSeen, o.checkTenure)
		o.lost = o.lost || o.tenure.lapsed // peers that stood still, too, have to renew their records
		o.mu.Unlock()
		o.see(patched, false)
		return o.actAgain(self.LastSeen)
	case kube.Classify(err) == kube.NotFound:
		o.gone()
		return o.actAgain(self.LastSeen)
	case isFutile(err):
		return true
	}
	o.mu.Lock()
	o.lost = true
	o.mu.Unlock()
	return false
}

// record returns the operator's record of this moment.
func (o *peeringObject) record() *peering.Peer {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.own.peer(o.settings.Priority, o.verdict.pause, time.Now())
}

// isFutile reports whether the same request fails again.
func isFutile(err error) bool {
	switch kube.Classify(err) {
	case kube.NotFound, kube.Forbidden, kube.Invalid, kube.Rejected:
		return true
	}
	return false
}

// write writes records into the object; those with no lifetime are removed. If there is a version, it must
// be that of the object.
func (o *peeringObject) write(ctx context.Context, version string, peers map[string]*peering.Peer) (*object.Object, error) {
	records := map[string]any{}
	for identity, peer := range peers {
		if record := peer.Record(); record != nil {
			records[identity] = record
		} else {
			records[identity] = nil
		}
	}
	changes := map[string]any{"status": records}
	if version != "" {
		changes["metadata"] = map[string]any{"resourceVersion": version}
	}
	return o.patch(ctx, patch.MergeType, changes)
}

// patch patches the object, or its status if that is a subresource.
func (o *peeringObject) patch(ctx context.Context, contentType string, changes any) (*object.Object, error) {
	body, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(peeringLeave, o.settings.Lifetime/6)) // there is time for another one then
	defer cancel()
	subresource := ""
	if o.resource.HasSubresource("status") {
		subresource = "status"
	}
	return o.client.Patch(ctx, o.resource, o.namespace, o.settings.Name, subresource, contentType, body)
}

// clean removes the records of dead peers, unless one of them has come back. Other operators do the same: it
// does not matter who succeeds.
func (o *peeringObject) clean(ctx context.Context) {
	o.mu.Lock()
	dead, newest := map[string]*peering.Peer{}, o.newest
	for _, identity := range o.dead {
		dead[identity] = &peering.Peer{Identity: identity}
	}
	o.dead = nil
	o.mu.Unlock()
	if len(dead) == 0 || newest == nil {
		return
	}
	patched, err := o.write(ctx, newest.ResourceVersion, dead)
	if err != nil {
		o.verdict.logger.Debug("Cannot remove the records of dead peers from "+o.String(), observe.EventKey, observe.LogPeeringKeepAlive, "error", err)
		return
	}
	o.see(patched, false)
}

// end removes the operator's record, so that others can resume at once, unless its next process takes over, or
// another replica shares it.
func (o *peeringObject) end(ctx context.Context) {
	o.mu.Lock()
	if o.alarm != nil {
		o.alarm.Stop()
	}
	o.verdict.release()
	o.tenure.leave()
	observe.Tell(o.deps.sink, observe.PeersChanged{Peering: o.inspected(time.Now()), Left: true})
	o.place.leave(o)
	exists, shared := o.newest != nil || !o.listed, o.own.isShared(time.Now())
	o.mu.Unlock()
	if !exists {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), peeringLeave)
	defer cancel()
	switch {
	case o.handOver != nil && o.handOver():
		o.leaveRecord(ctx, o.record()) // the next process has the whole lifetime to start
	case shared:
		o.leaveRecord(ctx, o.own.leaving(o.settings.Priority, time.Now()))
	default:
		o.removeRecord(ctx)
	}
}

// leaveRecord leaves the operator's record to another process.
func (o *peeringObject) leaveRecord(ctx context.Context, record *peering.Peer) {
	if _, err := o.write(ctx, "", map[string]*peering.Peer{record.Identity: record}); err != nil {
		o.tellKeepAlive(err)
	}
}

// removeRecord removes the operator's record, unless another replica has written it meanwhile.
func (o *peeringObject) removeRecord(ctx context.Context) {
	for {
		_, err := o.patch(ctx, patch.JSONType, o.own.removal())
		if err == nil || isFutile(err) {
			return
		}
		if sleep(ctx, peeringRetry/2) != nil {
			o.verdict.logger.Warn("Cannot leave "+o.String()+": other operators resume when the record expires",
				observe.EventKey, observe.LogPeeringUnwritten, "in", o.settings.Lifetime.String(), "error", err)
			return
		}
	}
}

// see takes notice of a version of the object.
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
			o.work.raise() // it may exist again
		}
	}
	if o.lost {
		o.lost, o.grace = false, time.Now().Add(min(peeringGrace, o.settings.Lifetime))
	}
	if o.own.see(o.status, time.Now()) || appeared {
		o.work.raise()
	}
	o.decide()
}

func (o *peeringObject) group() string { return o.resource.Group }

// exists reports whether the object exists, as far as is known.
func (o *peeringObject) exists() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.newest != nil
}

// gone takes notice of that the object does not exist. If it exists after all, the next keep-alive succeeds.
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

// actAgain ends the pause after the operator's record had expired. It returns false if a request was sent too long ago for
// that: then what the response says is outdated.
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

// interrupted notes why the object cannot be read.
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
			o.decide() // of a version that is not fresh, nothing can be told
		}
	case watch.Dropped, watch.Silent, watch.Unavailable:
		o.lost = o.lost || r.Attempt > 1
	}
}

// expired is called when the record of a peer may have expired. Only a fresh version of the object tells
// whether it has: it comes with the response to the operator's own keep-alive.
func (o *peeringObject) expired() { o.work.raise() }

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
		o.decideAbsent(missing)
		hidden = !missing
	default:
		return
	}
	observe.Tell(o.deps.sink, observe.PeersChanged{Peering: o.inspected(now), Left: hidden})
}

// decideAbsent decides while the object does not exist, or cannot be read. The lock must be held.
func (o *peeringObject) decideAbsent(missing bool) {
	if o.forbidden != nil {
		o.verdict.forbidden(o.String(), missing, o.settings.Mandatory, o.forbidden)
	} else {
		o.verdict.missing(o.String(), missing, o.settings.Mandatory)
	}
}

// reconsider decides again, since another object of the place was found, or not.
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
		o.work.raise()
	}
	if o.verdict.between(&d, now) {
		o.work.raise() // the record tells whether the operator is paused
	}
	o.arm(next, now)
}

// arm makes the operator decide again at a time; never if that is zero. The lock must be held.
func (o *peeringObject) arm(next, now time.Time) {
	if o.alarm != nil {
		o.alarm.Stop()
	}
	if !next.IsZero() {
		o.alarm = time.AfterFunc(max(0, next.Sub(now)), o.expired)
	}
}

// inspected returns what is known. The lock must be held.
func (o *peeringObject) inspected(now time.Time) inspect.Peering {
	told := inspect.Peering{
		Kind: peering.Kind(o.resource.Namespaced), Group: o.resource.Group, Namespace: o.namespace, Name: o.settings.Name, Exists: o.newest != nil,
	}
	for i := range o.peers {
		p := &o.peers[i]
		if p.IsDead(now) {
			continue
		}
		one := inspect.Peer{
			Identity: p.Identity, Self: p.Identity == o.own.identity, Priority: p.Priority, State: inspect.PeerPaused,
			Message: p.Message, Since: p.Since, LastSeen: p.LastSeen, Until: p.Deadline,
		}
		if peering.IsActive(p, o.peers, now) {
			one.State = inspect.PeerActive
		}
		if p.Pause != nil {
			one.PausedSince, one.PausedBy = p.Pause.Since, slices.Clone(p.Pause.By)
		}
		told.Peers = append(told.Peers, one)
	}
	return told
}

// tellKeepAlive logs how the operator's record was written.
func (o *peeringObject) tellKeepAlive(err error) {
	where := "cluster-wide"
	if o.namespace != "" {
		where = "in '" + o.namespace + "'"
	}
	result := "ok"
	switch {
	case err == nil:
		o.unwritten = false
		if o.settings.Stealth {
			return
		}
	case kube.Classify(err) == kube.NotFound:
		result = "not found"
	default:
		if !o.unwritten {
			o.unwritten = true
			level := slog.LevelWarn
			if !o.place.isPreferred(o) {
				level = slog.LevelInfo // the operators usually meet in the other one
			}
			o.verdict.logger.Log(context.Background(), level, "Cannot write the record of this operator into "+o.String()+": others may act beside it. If it is forbidden, permit to patch "+o.resource.Plural,
				observe.EventKey, observe.LogPeeringUnwritten, "error", err)
		}
		return
	}
	o.verdict.logger.Debug("Keep-alive in '"+o.settings.Name+"' "+where+": "+result+".", observe.EventKey, observe.LogPeeringKeepAlive)
}
