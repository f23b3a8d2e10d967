package peers

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// run participates until the context ends. The operator writes its own record before reading the records of peers. Of
// two operators that start at the same time, at least one therefore sees the other.
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
		ServerTimeout:     o.deps.Settings.ServerTimeout,
		ClientTimeout:     o.deps.Settings.ClientTimeout,
		InactivityTimeout: o.deps.Settings.InactivityTimeout,
		ReconnectBackoff:  o.deps.Settings.ReconnectBackoff,
		Logger:            o.deps.Logger.With(observe.NameKey, "kopf.watching", observe.EventKey, observe.LogStreamDetail),
	})
	wg.Wait()
	o.end(ctx)
}

// announce writes the operator's record for the first time. It returns when the record is written, or cannot be written.
func (o *peeringObject) announce(ctx context.Context) {
	for delay := peeringRetry; !o.renew(ctx); delay = min(2*delay, peeringRetryMax) {
		if core.Sleep(ctx, delay) != nil {
			return
		}
	}
}

// keepAlive renews the record before it expires, and on each wakeup.
func (o *peeringObject) keepAlive(ctx context.Context) {
	delay := peeringRetry
	for written := true; ; {
		next := delay
		if written {
			next, delay = keepAlive(o.settings.Lifetime, rand.IntN(6)), peeringRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-o.work:
		case <-time.After(next):
		}
		o.clean(ctx)
		if written = o.renew(ctx); !written {
			delay = min(2*delay, peeringRetryMax)
		}
	}
}

// keepAlive is [peering.KeepAlive], but early enough for a second request if the first one gets no response.
func keepAlive(lifetime time.Duration, jitter int) time.Duration {
	return min(peering.KeepAlive(lifetime, jitter), lifetime*2/3)
}

// renew writes the operator's record. It returns false if the caller must retry soon. If the record had expired, the
// operator resumes only after it has read its peers from the response, which has the newest version of the object.
func (o *peeringObject) renew(ctx context.Context) bool {
	self := o.record()
	patched, err := o.write(ctx, "", map[string]*peering.Peer{self.Identity: self})
	if ctx.Err() != nil {
		return true
	}
	o.logKeepAlive(err)
	o.mu.Lock()
	switch o.tenure.failure = err; {
	case err == nil:
		o.own.wrote(self.LastSeen)
		o.tenure.renew(self.LastSeen, o.checkTenure)
		o.lost = o.lost || o.tenure.lapsed // peers that were suspended too must renew their records first
	case !isFutile(err):
		o.lost = true
	}
	o.mu.Unlock()
	switch {
	case err == nil:
		o.see(patched, false)
	case kube.Classify(err) == kube.NotFound:
		o.gone()
	default:
		return isFutile(err)
	}
	return o.actAgain(self.LastSeen)
}

// clean removes the records of dead peers. The request has a resourceVersion, so that it fails if a peer came back.
// Other operators do the same; it does not matter which one succeeds.
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

// end removes the operator's record, so that others can resume at once. If the operator's next process takes over, or
// another replica shares the record, it leaves a record instead.
func (o *peeringObject) end(ctx context.Context) {
	o.mu.Lock()
	if o.alarm != nil {
		o.alarm.Stop()
	}
	o.verdict.release()
	o.tenure.leave()
	observe.Emit(o.deps.Sink, observe.PeersChanged{Peering: o.inspected(time.Now()), Left: true})
	o.place.leave(o)
	exists, shared := o.newest != nil || !o.listed, o.own.isShared(time.Now())
	o.mu.Unlock()
	if !exists {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), PeeringLeave)
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
