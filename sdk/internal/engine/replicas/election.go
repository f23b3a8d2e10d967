package replicas

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/peers"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/leases"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// standby is the reason to pause while another replica leads.
var standby = peers.PauseKey{Kind: inspect.PauseStandby}

// candidate is this replica in the elections of the leader.
type candidate struct {
	deps    *core.Deps
	pauses  *peers.Pauses
	lease   core.Lease
	newTerm func() // called before this replica acts again

	mu      sync.Mutex
	leading bool
}

// newCandidate returns a candidate. It pauses the operator until this replica is elected.
func newCandidate(d *core.Deps, p *peers.Pauses, lease core.Lease, newTerm func()) *candidate {
	c := &candidate{deps: d, pauses: p, lease: lease, newTerm: newTerm}
	c.follow("")
	return c
}

// election returns the configuration of the elector. The context is the context of the elections.
func (c *candidate) election(ctx context.Context, config *rest.Config) core.Election {
	return core.Election{
		Config: config, Namespace: c.lease.Namespace, Name: c.lease.Name, Identity: c.lease.Identity, Times: c.lease.Times,
		Logger: c.deps.Logger, Renewed: c.renewed, Lead: c.lead, Follow: c.follow,
		MayRelease: func() bool { return !errors.Is(context.Cause(ctx), leases.ErrBusy) },
	}
}

func (c *candidate) guard() *fence.Guard { return &c.deps.State.Election }

// renewed records a renewal of the lease that was sent at the given time. It returns false if the term is over, because
// the renewal was too late.
func (c *candidate) renewed(sent time.Time) bool {
	return !c.guard().Renew(sent, c.lease.Times.RenewDeadline)
}

// lead resumes the operator as the leader.
func (c *candidate) lead() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leading {
		return
	}
	c.leading = true
	c.deps.Leases.Leads.Store(true)
	c.deps.Leases.Elected.Add(1)
	c.deps.Logger.Info("Elected: this replica handles the objects", observe.EventKey, observe.LogLeaderElected, "identity", c.lease.Identity)
	c.newTerm()
	c.guard().Raise()
	c.pauses.Remove(standby)
}

// follow pauses the operator. If this replica was the leader, it cancels running handlers and waits for them, because
// another replica may lead soon.
func (c *candidate) follow(leader string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := c.leading && c.guard().Lapsed()
	c.guard().Drop()
	why := inspect.Pause{Reason: "standby: no replica leads yet"}
	if leader != "" {
		why = inspect.Pause{Reason: "standby: " + leader + " leads", By: []string{leader}}
	}
	c.pauses.Add(standby, why)
	if !c.leading && leader == "" {
		return
	}
	if !c.leading {
		c.deps.Logger.Info("Standing by: another replica handles the objects", observe.EventKey, observe.LogLeaderStandby, "leader", leader)
		return
	}
	c.leading = false
	c.deps.Leases.Leads.Store(false)
	c.deps.Leases.Lost.Add(1)
	if late {
		c.deps.Logger.Warn(fmt.Sprintf("The lease was not renewed within %s: the API server did not answer, or this process stood still. "+
			"Nothing was begun or written since", c.lease.Times.RenewDeadline), observe.EventKey, observe.LogLeaderLost)
	}
	c.deps.Logger.Warn("The lease is lost: this replica stops handling the objects, and stands by", observe.EventKey, observe.LogLeaderLost, "leader", leader)
	c.deps.Running.Stop(func(queue.Key, string) bool { return true }, 0, c.deps.Logger)
}
