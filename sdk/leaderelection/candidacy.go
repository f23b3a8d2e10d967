package leaderelection

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kopf-dev/kopf/sdk/kopf/election"
)

// candidacy is a replica in elections. It is also the resource lock of the library's elector, so that it sees the
// holder of the lease at the same time. The library itself reports a lost lease only after the renew deadline.
type candidacy struct {
	resourcelock.Interface
	election *election.Election

	mu     sync.Mutex
	leads  bool
	leader string             // the holder that was seen last, unless it is this replica
	resign context.CancelFunc // ends the present term
}

// serveTerm waits until the replica is elected, and renews the lease until it is lost or the context ends.
func (c *candidacy) serveTerm(ctx context.Context) error {
	term, resign := context.WithCancel(ctx)
	defer resign()
	c.mu.Lock()
	c.resign = resign
	c.mu.Unlock()
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: c, Name: c.election.Name,
		LeaseDuration: c.election.LeaseDuration, RenewDeadline: c.election.RenewDeadline, RetryPeriod: c.election.RetryPeriod,
		// The library would release the lease before the handlers have stopped.
		ReleaseOnCancel: false,
		Callbacks:       leaderelection.LeaderCallbacks{OnStartedLeading: c.lead, OnStoppedLeading: func() {}},
	})
	if err != nil {
		return err
	}
	elector.Run(term)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leads && ctx.Err() == nil {
		c.leads = false
		c.election.Follow(c.leader)
	}
	return nil
}

// lead is called in a goroutine of its own, whose context ends with the term.
func (c *candidacy) lead(term context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if term.Err() != nil {
		return
	}
	c.leads, c.leader = true, ""
	c.election.Lead()
}

// limited returns a context for one request. The library limits requests only while the replica leads; one that is never
// answered would make it stand by for ever.
func (c *candidacy) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.election.RenewDeadline/2)
}

// Get implements [resourcelock.Interface].
func (c *candidacy) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	record, raw, err := c.Interface.Get(ctx)
	if err == nil {
		c.saw(record.HolderIdentity)
	}
	return record, raw, err
}

// Create implements [resourcelock.Interface].
func (c *candidacy) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return c.write(ctx, record, c.Interface.Create)
}

// Update implements [resourcelock.Interface].
func (c *candidacy) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return c.write(ctx, record, c.Interface.Update)
}

// write makes this replica the holder, or renews that. A term is over if that comes too late: the library may not have
// noticed, since its timers stand still with the process.
func (c *candidacy) write(ctx context.Context, record resourcelock.LeaderElectionRecord,
	write func(context.Context, resourcelock.LeaderElectionRecord) error,
) error {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	sent := time.Now()
	err := write(ctx, record)
	if err != nil || record.HolderIdentity != c.Identity() || c.election.Renewed(sent) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leads {
		c.resign()
	}
	return nil
}

// saw records the holder of the lease. If another replica holds it, this replica's term is over.
func (c *candidacy) saw(holder string) {
	if holder == c.Identity() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := holder != c.leader
	c.leader = holder
	switch {
	case c.leads:
		c.resign()
	case changed:
		c.election.Follow(holder)
	}
}

// release gives the lease up, so that others need not wait until it expires. It does nothing if that fails.
func (c *candidacy) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.election.RenewDeadline/2)
	defer cancel()
	for {
		record, _, err := c.Interface.Get(ctx)
		if err != nil || record.HolderIdentity != c.Identity() {
			return
		}
		now := metav1.NewTime(time.Now())
		err = c.Interface.Update(ctx, resourcelock.LeaderElectionRecord{
			LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now,
		})
		if !apierrors.IsConflict(err) {
			return
		}
	}
}
