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
	for delay := peeringRetry; !o.renew(ctx); delay = min(2*delay, peeringRetryMax) {
		if core.Sleep(ctx, delay) != nil {
			break
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { o.keepAlive(ctx) })
	watch.Run(ctx, watch.Options{
		Client: o.client, Resource: o.resource, Namespace: o.name.Namespace,
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

// keepAlive renews the record before it expires, and on each wakeup.
func (o *peeringObject) keepAlive(ctx context.Context) {
	delay := peeringRetry
	for written := true; ; {
		next := delay
		if written {
			// Early enough for a second request if the first one gets no response.
			next, delay = min(peering.KeepAlive(o.settings.Lifetime, rand.IntN(6)), o.settings.Lifetime*2/3), peeringRetry
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

// renew writes the operator's record. It returns false if the caller must retry soon. If the record had expired, the
// operator resumes only after it has read its peers from the response, which has the newest version of the object.
func (o *peeringObject) renew(ctx context.Context) bool {
	self := o.record()
	patched, err := o.write(ctx, "", self)
	if ctx.Err() != nil {
		return true
	}
	o.place.Lock()
	defer o.place.Unlock()
	o.logKeepAlive(err)
	o.tenure.failure = err
	switch {
	case err == nil:
		o.own.wrote(self.LastSeen)
		o.tenure.renew(self.LastSeen)
		o.lost = o.lost || o.tenure.lapsed // peers that were suspended too must renew their records first
		o.read(patched, false)
	case kube.Classify(err) == kube.NotFound:
		existed := o.newest != nil
		if o.vanish(); existed {
			o.decide() // if the object exists after all, the next keep-alive succeeds
		}
	case isFutile(err):
		return true
	default:
		o.lost = true
		return false
	}
	return o.tenure.resume(self.LastSeen)
}

// clean removes the records of dead peers. The request has a resourceVersion, so that it fails if a peer came back.
// Other operators do the same; it does not matter which one succeeds.
func (o *peeringObject) clean(ctx context.Context) {
	o.place.Lock()
	dead, newest := o.dead, o.newest
	o.dead = nil
	o.place.Unlock()
	if len(dead) == 0 || newest == nil {
		return
	}
	patched, err := o.write(ctx, newest.ResourceVersion, dead...)
	if err != nil {
		o.verdict.logger.Debug("Cannot remove the records of dead peers from "+o.name.String(), observe.EventKey, observe.LogPeeringKeepAlive, "error", err)
		return
	}
	o.see(patched, false)
}

// end removes the operator's record, so that others can resume at once. If the operator's next process takes over, or
// another replica shares the record, it leaves a record instead.
func (o *peeringObject) end(ctx context.Context) {
	o.place.Lock()
	stopTimer(o.alarm)
	o.verdict.release()
	o.tenure.leave()
	observe.Emit(o.deps.Sink, observe.PeersChanged{Peering: o.inspected(time.Now()), Left: true})
	delete(o.place.objects, o)
	o.place.decideAbsent()
	exists, shared := o.newest != nil || !o.listed, o.own.isShared(time.Now())
	o.place.Unlock()
	if !exists {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), PeeringLeave)
	defer cancel()
	remaining := o.own.leaving(o.settings.Priority, time.Now())
	switch {
	case o.handOver != nil && o.handOver():
		remaining = o.record() // the next process has the whole lifetime to start
	case !shared:
		o.removeRecord(ctx)
		return
	}
	if _, err := o.write(ctx, "", remaining); err != nil {
		o.place.Lock()
		defer o.place.Unlock()
		o.logKeepAlive(err)
	}
}
