package leases

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// Options configure a [Sharing].
type Options struct {
	Client   *Client
	Name     string // name that the replicas have in common
	Identity string // identity of this replica, unique among the replicas
	Division shards.Division
	Times    Times
	Logger   *slog.Logger
	Stats    *Stats

	// Guard returns the guard of a shard, which is closed while the replica does not hold it.
	Guard func(shard int) *fence.Guard

	// Act is called with the shards whose objects the replica handles from now on. It must not block.
	Act func(shards.Set)

	// Stop blocks until no work is done for the objects of shards that [Options.Act] took away. An urgent call means
	// that another replica may begin soon. It may overlap with an earlier call for the same shards.
	Stop func(gone shards.Set, urgent bool)
}

// Sharing holds shards by leases. One goroutine writes all leases of a replica.
//
// Two replicas never act on a shard at the same time. A replica that has not renewed a lease stops acting after the
// renew deadline, counted from the sending of its last successful request. Another replica takes the lease only after
// its duration, counted from when the other replica saw the result of that request.
type Sharing struct {
	options  Options
	observer observer
	wake     chan struct{}
	first    chan struct{} // closed after the first look at the leases
	looked   bool          // first is closed
	leaving  atomic.Bool
	member   Lease // lease of this replica; without a version if it does not exist
	renewed  time.Time
	blocked  time.Time // start of the wait for replicas with another division; else zero
	logged   bool      // the wait is logged

	mu      sync.Mutex
	warned  map[string]time.Time // time of the last log line of a warning
	held    map[int]*holding
	stopped sync.WaitGroup
}

// holding is a lease of a shard that the replica holds. It is guarded by the lock of the sharing.
type holding struct {
	lease    Lease
	renewed  time.Time // time when the last successful renewal was sent
	deadline *time.Timer
	stopping bool // the replica has stopped acting on the shard
	lost     bool // others may take the lease
	drained  bool // no work is done for the shard
}

// NewSharing returns a sharing that holds nothing.
func NewSharing(options Options) *Sharing {
	return &Sharing{
		options: options, warned: map[string]time.Time{}, wake: make(chan struct{}, 1), first: make(chan struct{}), held: map[int]*holding{},
		member: Lease{
			Name: replicaName(options.Name, options.Identity), Holder: options.Identity, Duration: options.Times.Duration,
			Labels: map[string]string{nameLabel: options.Name, divisionLabel: divisionValue(options.Division)},
		},
	}
}

// Looked returns a channel that closes when the replica has tried for the first time to get its share.
func (s *Sharing) Looked() <-chan struct{} { return s.first }

// Leave makes the replica acquire no more shards. It holds those that it has until the end of [Sharing.Run].
func (s *Sharing) Leave() {
	s.leaving.Store(true)
	s.raise()
}

func (s *Sharing) raise() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// ErrBusy cancels the context of [Sharing.Run] if handlers of the shards still run. Then Run does not release the
// leases, so that they expire.
var ErrBusy = errors.New("handlers were abandoned")

// Run acquires, renews and releases leases until the context ends. Then no work may be done for the shards, unless
// the cause is [ErrBusy], and Run releases the remaining leases.
func (s *Sharing) Run(ctx context.Context) {
	for ctx.Err() == nil {
		s.round(ctx)
		if !s.looked {
			s.looked = true
			close(s.first)
		}
		// Replicas that started at the same moment do not stay in step.
		wait := time.NewTimer(s.options.Times.RetryPeriod * time.Duration(90+rand.IntN(20)) / 100)
		select {
		case <-wait.C:
		case <-s.wake:
		case <-ctx.Done():
		}
		wait.Stop()
	}
	s.releaseAll(ctx)
}

// round looks at all leases once, renews those of the replica, and moves shards.
func (s *Sharing) round(ctx context.Context) {
	// It must end in time for another attempt before the renew deadline.
	ctx, cancel := context.WithTimeout(ctx, s.options.Times.RenewDeadline/2)
	defer cancel()
	s.renewMember(ctx)
	all, err := s.options.Client.List(ctx, nameLabel+"="+s.options.Name)
	now := time.Now()
	if err != nil {
		s.warn(ctx, "list the leases", err)
		s.renewShards(ctx)
		return
	}
	s.observer.observe(all, now)
	s.reconcile()
	s.renewShards(ctx)
	s.releaseDrained(ctx)
	s.tidy(ctx, now)
	if s.leaving.Load() {
		return
	}
	v := viewOf(s.observer.seen, s.options.Division, now)
	if !s.mayMove(v, now) {
		return
	}
	moves := shards.Balance(s.options.Identity, v.members, s.holders(v))
	s.stopActing(moves.Release)
	s.acquire(ctx, moves.Acquire)
}

// mayMove reports whether this replica may acquire shards despite replicas with another division.
func (s *Sharing) mayMove(v view, now time.Time) bool {
	allowed, afterDelay := v.mayAcquire(s.options.Identity)
	if allowed && !afterDelay {
		s.blocked, s.logged = time.Time{}, false
		return true
	}
	if s.blocked.IsZero() || !allowed {
		s.blocked = now
	}
	if !s.logged {
		s.logged = true
		s.options.Logger.Warn("Other replicas divide the objects into another number of shards, or by another key; waiting until they have left",
			observe.EventKey, observe.LogShardsForeign, "division", divisionValue(s.options.Division))
	}
	return allowed && now.Sub(s.blocked) > s.options.Times.Duration
}

// holders returns the holders of all shards from the point of view of the replica. A shard that it lost or hands over
// is not free for it until the replica has stopped acting on the shard.
func (s *Sharing) holders(v view) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	holders := slices.Clone(v.holders)
	for shard := range holders {
		switch h := s.held[shard]; {
		case h != nil && h.lost, h != nil && h.stopping && holders[shard] == s.options.Identity:
			holders[shard] = "(stopping)"
		case h != nil:
			holders[shard] = s.options.Identity
		case holders[shard] == s.options.Identity:
			holders[shard] = "" // of a request whose answer was lost
		}
	}
	return holders
}

// warnEvery is how often the same warning is logged.
const warnEvery = time.Minute

// warn logs a request that failed. The next round repeats it.
func (s *Sharing) warn(ctx context.Context, what string, err error) {
	if kube.Classify(err) == kube.Conflict || errors.Is(context.Cause(ctx), context.Canceled) {
		return
	}
	s.mu.Lock()
	last, now := s.warned[what], time.Now()
	repeated := !last.IsZero() && now.Sub(last) < warnEvery
	if !repeated {
		s.warned[what] = now
	}
	s.mu.Unlock()
	if repeated {
		return
	}
	s.options.Logger.Warn("Cannot "+what+"; retrying", observe.EventKey, observe.LogLeaseFailed, "error", err)
}
