package engine

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/leases"
)

// replica is the operator as one of several replicas.
type replica struct {
	deps             *deps
	handover         *handover
	pauses           *pauses
	defaultNamespace string              // of leases
	restConfig       func() *rest.Config // of other clients
	fail             func(error)         // stops the operator, which returns the error
}

// part is what the operator does as one of several replicas.
type part struct {
	joined <-chan struct{} // closes when the operator knows its first shards; nil if it handles all objects
	leave  func()          // is called when the operator begins to stop
	giveUp func(idle bool) // is called at the end: releases the leases if the operator is idle, or lets them expire
}

// takePart makes the operator share the objects with other replicas, or take part in elections, as the
// settings say.
func (r *replica) takePart(ctx context.Context) (p part, err error) {
	d := r.deps
	p = part{leave: func() {}, giveUp: func(bool) {}}
	if d.running == nil {
		return p, nil
	}
	lease := d.settings.Lease
	if lease.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return p, fmt.Errorf("find an identity for the leases; set Settings.Scaling.Identity: %w", err)
		}
		lease.Identity = host + "_" + strings.ToLower(rand.Text()[:8])
	}
	if lease.Namespace == "" {
		lease.Namespace = r.defaultNamespace
	}
	if lease.Namespace == "" {
		return p, fmt.Errorf("hold the lease %s: the credentials have no namespace; set Settings.Scaling.LeaseNamespace", lease.Name)
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	p.giveUp = func(idle bool) {
		if idle {
			cancel(nil)
		} else {
			cancel(leases.ErrBusy)
		}
		wg.Wait()
	}
	if d.shards == nil {
		if d.settings.Elector == nil {
			cancel(nil)
			return p, errElector
		}
		c := newCandidate(d, r.pauses, lease, r.handover.memories.newTerm)
		wg.Go(func() {
			if err := d.settings.Elector.Elect(ctx, c.election(ctx, lease, r.restConfig())); err != nil {
				r.fail(fmt.Errorf("%w: %w", errElection, err))
			}
		})
		return p, nil
	}
	sharing := r.handover.newSharing(lease)
	wg.Go(func() { sharing.Run(ctx) })
	p.joined, p.leave = sharing.Looked(), sharing.Leave
	return p, nil
}
