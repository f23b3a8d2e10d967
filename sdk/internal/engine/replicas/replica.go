// Package replicas makes the replicas of an operator act one after the other, or on different shards of the objects.
package replicas

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/peers"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/leases"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// Replica makes the operator one of several replicas.
type Replica struct {
	Deps             *core.Deps
	Streams          *serving.Streams
	Pauses           *peers.Pauses
	NewTerm          func()              // called before this replica acts again
	DefaultNamespace string              // default namespace of the leases
	RestConfig       func() *rest.Config // configuration of the elector's client
	Fail             func(error)         // stops the operator with an error
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
		c := newCandidate(d, r.Pauses, lease, r.NewTerm)
		wg.Go(func() {
			if err := d.Settings.Elector.Elect(ctx, c.election(ctx, r.RestConfig())); err != nil {
				r.Fail(fmt.Errorf("%w: %w", core.ErrElection, err))
			}
		})
		return p, nil
	}
	sharing := r.newSharing(lease)
	wg.Go(func() { sharing.Run(ctx) })
	p.Joined, p.Leave = sharing.Looked(), sharing.Leave
	return p, nil
}

func (r *Replica) newSharing(lease core.Lease) *leases.Sharing {
	d := r.Deps
	return leases.NewSharing(leases.Options{
		Client: leases.NewClient(d.Client, lease.Namespace), Name: lease.Name, Identity: lease.Identity,
		Division: d.Shards.Division, Times: lease.Times, Logger: d.Logger, Stats: &d.Leases.Shards,
		Guard: d.Shards.Guard,
		Act: func(own shards.Set) {
			d.Shards.Set(own)
			observe.Emit(d.Sink, observe.ShardsChanged{Division: d.Shards.Division, Own: own.All()})
		},
		Stop: r.Streams.HandOver,
	})
}
