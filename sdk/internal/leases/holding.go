package leases

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// writers is how many leases are written at the same time.
const writers = 8

// reconcile compares the shards that the replica holds with the leases that it sees.
func (s *Sharing) reconcile() {
	for shard, h := range s.holdings() {
		seen, exists := s.observer.seen[h.lease.Name]
		if exists && seen.lease.Holder == "" && s.isReleased(shard, h) {
			continue
		}
		if !exists || seen.lease.Version == "" || seen.lease.Holder != s.options.Identity {
			s.lose(shard, "the lease was taken away", "holder", seen.lease.Holder)
			continue
		}
		s.mu.Lock()
		h.lease.Version = seen.lease.Version // another client added a label, or the answer to a renewal was lost
		s.mu.Unlock()
	}
}

// isReleased reports whether the replica itself has released a lease, in a request whose answer was lost.
func (s *Sharing) isReleased(shard int, h *holding) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.drained {
		s.letGo(shard, h)
	}
	return h.drained
}

// letGo notes that the lease of a shard is released. The lock must be held.
func (s *Sharing) letGo(shard int, h *holding) {
	if s.held[shard] != h {
		return
	}
	s.options.Guard(shard).Drop()
	h.lost = true
	h.deadline.Stop()
	delete(s.held, shard)
	s.options.Stats.Released.Add(1)
}

// holdings returns the shards whose leases the replica must keep.
func (s *Sharing) holdings() map[int]*holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := maps.Clone(s.held)
	maps.DeleteFunc(all, func(_ int, h *holding) bool { return h.lost })
	return all
}

// act reports the shards that the replica acts on to [Options.Act]. The lock must be held.
func (s *Sharing) act() {
	var acting []int
	for shard, h := range s.held {
		if !h.stopping {
			acting = append(acting, shard)
		}
	}
	s.options.Act(shards.NewSet(acting...))
}

// acquire takes leases without a holder.
func (s *Sharing) acquire(ctx context.Context, wanted []int) {
	var mu sync.Mutex
	var acquired []int
	inParallel(wanted, func(shard int) {
		name := shardName(s.options.Name, shard)
		lease := s.observer.seen[name].lease
		if lease.Version != "" {
			lease.Transitions++
		}
		lease.Name, lease.Holder, lease.Duration = name, s.options.Identity, s.options.Times.Duration
		lease.Labels = map[string]string{
			nameLabel: s.options.Name, divisionLabel: divisionValue(s.options.Division), shardLabel: strconv.Itoa(shard),
		}
		sent := time.Now()
		lease.Acquired, lease.Renewed = sent, sent
		written, err := s.options.Client.Write(ctx, lease)
		if err != nil {
			s.warn(ctx, "acquire the lease of a shard", err)
			return
		}
		h := &holding{lease: written, renewed: sent}
		s.mu.Lock()
		s.held[shard] = h
		guard := s.options.Guard(shard)
		guard.Renew(sent, s.options.Times.RenewDeadline)
		guard.Raise()
		s.options.Stats.Acquired.Add(1)
		h.deadline = time.AfterFunc(s.options.Times.RenewDeadline-time.Since(sent), func() { s.missed(shard, h) })
		s.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		acquired = append(acquired, shard)
	})
	if len(acquired) == 0 {
		return
	}
	s.options.Logger.Info("Handling more shards", observe.EventKey, observe.LogShardsAcquired, "shards", shards.NewSet(acquired...).String())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.act()
}

// inParallel calls a function for each shard, and waits for all.
func inParallel(all []int, do func(shard int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, writers)
	for _, shard := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(shard)
		})
	}
	wg.Wait()
}

// renewMember renews the lease that marks the replica as present. A replica that leaves deletes its lease.
func (s *Sharing) renewMember(ctx context.Context) {
	if s.leaving.Load() {
		s.deleteMember(ctx)
		return
	}
	now := time.Now()
	if s.member.Version != "" && !s.options.Times.renewDue(s.renewed, now) {
		return
	}
	lease := s.member
	lease.Renewed = now
	if lease.Version == "" {
		lease.Acquired = now
	}
	written, err := s.options.Client.Write(ctx, lease)
	switch class := kube.Classify(err); {
	case err == nil:
		s.member.Version, s.member.Acquired, s.renewed = written.Version, lease.Acquired, now
	case class == kube.NotFound:
		s.member.Version = ""
		s.raise()
	case class == kube.Conflict:
		s.member.Version = s.observer.seen[lease.Name].lease.Version // of a request whose answer was lost
	default:
		s.warn(ctx, "write the lease of this replica", err)
	}
}

func (s *Sharing) deleteMember(ctx context.Context) {
	if s.member.Version == "" {
		return
	}
	if err := s.options.Client.Delete(ctx, s.member); err != nil && kube.Classify(err) != kube.NotFound {
		s.warn(ctx, "delete the lease of this replica", err)
		return
	}
	s.member.Version = ""
}

// tidy deletes the leases of departed replicas.
func (s *Sharing) tidy(ctx context.Context, now time.Time) {
	for _, lease := range expired(s.observer.seen, now) {
		if lease.Name == s.member.Name {
			continue
		}
		if err := s.options.Client.Delete(ctx, lease); err != nil && kube.Classify(err) != kube.NotFound {
			s.warn(ctx, "delete the lease of a departed replica", err)
		}
	}
}

// renewShards renews the leases of shards that are due.
func (s *Sharing) renewShards(ctx context.Context) {
	now, due := time.Now(), []int(nil)
	all := s.holdings()
	for shard, h := range all {
		if s.options.Times.renewDue(h.renewed, now) {
			due = append(due, shard)
		}
	}
	inParallel(due, func(shard int) {
		h := all[shard]
		s.mu.Lock()
		lease := h.lease
		s.mu.Unlock()
		sent := time.Now()
		lease.Renewed = sent
		written, err := s.options.Client.Write(ctx, lease)
		if err != nil {
			s.warn(ctx, "renew the lease of a shard", err)
			return
		}
		if s.noteRenewed(shard, h, written.Version, sent) {
			s.lose(shard, missedDeadline, "deadline", s.options.Times.RenewDeadline.String())
		}
	})
}

// noteRenewed records the renewal of a lease. It reports whether the renewal came after the deadline. In that case,
// this replica did nothing since the deadline, and another replica may have acted.
func (s *Sharing) noteRenewed(shard int, h *holding, version string, sent time.Time) (tooLate bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.lost {
		return false
	}
	h.lease.Version, h.lease.Renewed, h.renewed = version, sent, sent
	if s.options.Guard(shard).Renew(sent, s.options.Times.RenewDeadline) {
		return true
	}
	h.deadline.Reset(s.options.Times.RenewDeadline - time.Since(sent))
	return false
}

// missedDeadline is why a shard is lost whose lease was renewed too late, or not at all.
const missedDeadline = "the lease could not be renewed in time"

// missed gives up a shard whose lease could not be renewed in time.
func (s *Sharing) missed(shard int, h *holding) {
	s.mu.Lock()
	current := s.held[shard] == h && !h.lost && time.Since(h.renewed) >= s.options.Times.RenewDeadline
	s.mu.Unlock()
	if current {
		s.lose(shard, missedDeadline, "deadline", s.options.Times.RenewDeadline.String())
	}
}

// lose stops at once all that is done for a shard: another replica takes it soon.
func (s *Sharing) lose(shard int, why, key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[shard]
	if h == nil || h.lost {
		return
	}
	s.options.Guard(shard).Drop()
	h.lost, h.stopping = true, true
	h.deadline.Stop()
	s.options.Stats.Lost.Add(1)
	s.options.Logger.Warn("A shard is lost: "+why+"; stopping its handlers", observe.EventKey, observe.LogShardsLost, "shard", shard, key, value)
	s.act()
	s.stopped.Go(func() {
		s.options.Stop(shards.NewSet(shard), true)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.held[shard] == h {
			delete(s.held, shard)
		}
		s.raise()
	})
}

// stopActing begins to hand shards over: their leases are released as soon as no work is done for them.
func (s *Sharing) stopActing(gone []int) {
	if len(gone) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stopping := map[int]*holding{}
	for _, shard := range gone {
		if h := s.held[shard]; h != nil && !h.stopping {
			s.options.Guard(shard).Drain()
			h.stopping = true
			stopping[shard] = h
		}
	}
	if len(stopping) == 0 {
		return
	}
	set := shards.NewSet(slices.Collect(maps.Keys(stopping))...)
	s.options.Logger.Info("Handing over shards to other replicas", observe.EventKey, observe.LogShardsReleased, "shards", set.String())
	s.act()
	for shard, h := range stopping { // a handler that does not end delays only its own shard
		s.stopped.Go(func() {
			s.options.Stop(shards.NewSet(shard), false)
			s.mu.Lock()
			defer s.mu.Unlock()
			h.drained = true
			s.raise()
		})
	}
}

// releaseDrained releases the leases of shards without running work.
func (s *Sharing) releaseDrained(ctx context.Context) {
	all := s.holdings()
	maps.DeleteFunc(all, func(_ int, h *holding) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return !h.drained
	})
	s.release(ctx, all)
}

func (s *Sharing) release(ctx context.Context, all map[int]*holding) {
	inParallel(slices.Sorted(maps.Keys(all)), func(shard int) {
		h := all[shard]
		s.mu.Lock()
		lease := h.lease
		s.mu.Unlock()
		lease.Holder, lease.Duration, lease.Renewed = "", time.Second, time.Now()
		if _, err := s.options.Client.Write(ctx, lease); err != nil {
			s.warn(ctx, "release the lease of a shard", err)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.letGo(shard, h)
	})
}

// releaseAll releases the remaining leases when the replica ends.
func (s *Sharing) releaseAll(ctx context.Context) {
	if errors.Is(context.Cause(ctx), ErrBusy) {
		s.abandonAll()
		return
	}
	s.stopped.Wait()
	defer s.abandonAll()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.Times.RenewDeadline/2)
	defer cancel()
	// The end of the context may have interrupted a renewal, which the server has carried out.
	all, err := s.options.Client.List(ctx, nameLabel+"="+s.options.Name)
	if err != nil {
		s.warn(ctx, "list the leases", err)
	} else {
		s.observer.observe(all, time.Now())
		s.reconcile()
		if seen, exists := s.observer.seen[s.member.Name]; exists && seen.lease.Holder == s.options.Identity {
			s.member.Version = seen.lease.Version
		}
	}
	s.release(ctx, s.holdings())
	s.deleteMember(ctx)
}

// abandonAll stops renewing the remaining leases, so that they expire.
func (s *Sharing) abandonAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.held {
		h.deadline.Stop()
	}
}
