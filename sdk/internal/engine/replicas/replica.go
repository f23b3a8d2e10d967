// Package replicas makes the replicas of an operator act one after the other, or on different shards of the objects.
package replicas

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/peers"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/leases"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// Replica makes the operator one of several replicas.
type Replica struct {
	Deps             *core.Deps
	Streams          *serving.Streams
	Pauses           *peers.Pauses
	NewTerm          func()      // called before this replica acts again
	DefaultNamespace string      // default namespace of the leases
	Fail             func(error) // stops the operator with an error
}

// part is the participation of the operator as one of several replicas.
type part struct {
	Joined <-chan struct{} // closed when the operator knows its first shards; nil if it handles all objects
	Leave  func()          // called when the operator starts to stop
	GiveUp func(idle bool) // called at the end; releases the leases if the operator is idle, else leaves them to expire
}

// TakePart starts sharding or leader election according to the settings.
func (r *Replica) TakePart(ctx context.Context) (p part, err error) {
	d := r.Deps
	p = part{Leave: func() {}, GiveUp: func(bool) {}}
	if d.Running == nil {
		return p, nil
	}
	lease := d.Settings.Lease
	if lease.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return p, fmt.Errorf("find an identity for the leases; set Settings.Scaling.Identity: %w", err)
		}
		lease.Identity = host + "_" + strings.ToLower(rand.Text()[:8])
	}
	if lease.Namespace = cmp.Or(lease.Namespace, r.DefaultNamespace); lease.Namespace == "" {
		return p, fmt.Errorf("hold the lease %s: the credentials have no namespace; set Settings.Scaling.LeaseNamespace", lease.Name)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	p.GiveUp = func(idle bool) {
		if idle {
			cancel(nil)
		} else {
			cancel(leases.ErrBusy)
		}
		wg.Wait()
	}
	if d.Shards == nil {
		if d.Settings.Elector == nil {
			cancel(nil)
			return p, core.ErrElector
		}
		c := &candidate{replica: r, lease: lease}
		c.follow("") // pauses the operator until this replica is elected
		wg.Go(func() {
			if err := d.Settings.Elector.Elect(ctx, c.election(ctx)); err != nil {
				r.Fail(fmt.Errorf("%w: %w", core.ErrElection, err))
			}
		})
		return p, nil
	}
	sharing := leases.NewSharing(leases.Options{
		Client: leases.NewClient(d.Client, lease.Namespace), Name: lease.Name, Identity: lease.Identity,
		Division: d.Shards.Division, Times: lease.Times, Logger: d.Logger, Stats: &d.Leases.Shards,
		Guard: d.Shards.Guard,
		Act: func(own shards.Set) {
			d.Shards.Set(own)
			observe.Emit(d.Sink, observe.ShardsChanged{Division: d.Shards.Division, Own: own.All()})
		},
		Stop: r.Streams.HandOver,
	})
	wg.Go(func() { sharing.Run(ctx) })
	p.Joined, p.Leave = sharing.Looked(), sharing.Leave
	return p, nil
}

// standby is the reason to pause while another replica leads.
var standby = peers.PauseKey{Kind: inspect.PauseStandby}

// candidate is this replica in the elections of the leader.
type candidate struct {
	replica *Replica
	lease   core.Lease

	mu      sync.Mutex
	leading bool
}

// election returns the configuration of the elector. The context is the context of the elections.
func (c *candidate) election(ctx context.Context) core.Election {
	d, lease := c.replica.Deps, c.lease
	return core.Election{
		Config: rest.CopyConfig(kube.ConfigFrom(ctx)), Namespace: lease.Namespace, Name: lease.Name, Identity: lease.Identity, Times: lease.Times,
		Logger: d.Logger, Lead: c.lead, Follow: c.follow,
		Renewed:    func(sent time.Time) bool { return !d.State.Election.Renew(sent, lease.Times.RenewDeadline) },
		MayRelease: func() bool { return !errors.Is(context.Cause(ctx), leases.ErrBusy) },
	}
}

// lead resumes the operator as the leader.
func (c *candidate) lead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leading {
		return
	}
	c.leading = true
	d := c.replica.Deps
	d.Leases.Leads.Store(true)
	d.Leases.Elected.Add(1)
	d.Logger.Info("Elected: this replica handles the objects", observe.EventKey, observe.LogLeaderElected, "identity", c.lease.Identity)
	c.replica.NewTerm()
	d.State.Election.Raise()
	c.replica.Pauses.Remove(standby)
}

// follow pauses the operator. If this replica was the leader, it cancels running handlers and waits for them, because
// another replica may lead soon.
func (c *candidate) follow(leader string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.replica.Deps
	late := d.State.Election.Lapsed()
	d.State.Election.Drop()
	why := inspect.Pause{Reason: "standby: no replica leads yet"}
	if leader != "" {
		why = inspect.Pause{Reason: "standby: " + leader + " leads", By: []string{leader}}
	}
	c.replica.Pauses.Add(standby, why)
	if !c.leading {
		if leader != "" {
			d.Logger.Info("Standing by: another replica handles the objects", observe.EventKey, observe.LogLeaderStandby, "leader", leader)
		}
		return
	}
	c.leading = false
	d.Leases.Leads.Store(false)
	d.Leases.Lost.Add(1)
	if late {
		d.Logger.Warn(fmt.Sprintf("The lease was not renewed within %s: the API server did not answer, or this process stood still. "+
			"Nothing was begun or written since", c.lease.Times.RenewDeadline), observe.EventKey, observe.LogLeaderLost)
	}
	d.Logger.Warn("The lease is lost: this replica stops handling the objects, and stands by", observe.EventKey, observe.LogLeaderLost, "leader", leader)
	d.Running.Stop(func(queue.Key, string) bool { return true }, 0, d.Logger)
}
