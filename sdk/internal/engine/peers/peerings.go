// Package peers pauses the operator while others have precedence: the operators of a peering, the elected replica, or a
// user of the inspector.
package peers

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// Peerings are the peering objects in which the operator participates, in each API group of peering: one object of the
// cluster, or one in each served namespace. A peer with precedence in any of them pauses all handling. Only the
// discovery calls Adjust.
type Peerings struct {
	deps     *core.Deps
	Pauses   *Pauses
	identity string          // identity of the operator
	dev      bool            // development session
	HandOver func() bool     // reports whether the next process takes over the records; nil means never
	newTerm  func()          // called before the operator acts again, after its record had expired
	ctx      context.Context // ends when the operator leaves
	leave    context.CancelFunc
	running  sync.WaitGroup

	mu  sync.Mutex
	all map[resources.Scope]*peeringObject

	places map[string]*peeringPlace // places by namespace; the empty namespace is the cluster

	warned bool // the warning about a missing peering in a development session was logged
}

// NewPeerings returns the peerings of an operator, without any peering objects.
func NewPeerings(d *core.Deps, p *Pauses, identity string, dev bool, newTerm func()) *Peerings {
	all := &Peerings{deps: d, Pauses: p, identity: identity, dev: dev, newTerm: newTerm, all: map[resources.Scope]*peeringObject{}, places: map[string]*peeringPlace{}}
	all.ctx, all.leave = context.WithCancel(context.WithoutCancel(d.Background))
	return all
}

// kindMissing is the reason to pause while the cluster has no resource of peering objects.
var kindMissing = PauseKey{Kind: inspect.PausePeering}

// Adjust joins the peering objects of the resources and namespaces, and leaves all others. The empty namespace is the
// whole cluster. Before Adjust returns, it pauses the operator until the peers in new objects are known.
func (p *Peerings) Adjust(known []resources.Resource, namespaces []string) {
	settings := &p.deps.Settings.Peering
	if !settings.TakesPart() {
		return
	}
	namespaced := !settings.ClusterWide && (len(namespaces) != 1 || namespaces[0] != "")
	found := resources.Peerings(known, namespaced)
	p.pauseIfMissing(len(found) == 0 && settings.Mandatory, peering.Kind(namespaced))
	if len(found) == 0 && p.dev && !p.warned {
		p.warned = true
		p.deps.Logger.Warn("The cluster has no "+peering.Kind(namespaced)+": "+actBeside, observe.EventKey, observe.LogPeeringMissing)
	}
	if !namespaced {
		namespaces = []string{""}
	}
	wanted := map[resources.Scope]*resources.Resource{}
	for _, res := range found {
		for _, ns := range namespaces {
			wanted[resources.Scope{Resource: res.Key(), Namespace: ns}] = res
		}
	}
	p.leaveOthers(wanted)
	p.mu.Lock()
	defer p.mu.Unlock()
	joined := map[resources.Scope]*peeringObject{}
	for scope, res := range wanted {
		if p.all[scope] == nil {
			joined[scope] = p.join(res, scope)
		}
	}
	maps.Copy(p.all, joined)
	p.setGuards()
	for _, o := range joined { // all objects know their place before the first one runs
		p.running.Go(func() { o.run(o.ctx) })
	}
}

// setGuards makes new work depend on the validity of the operator's records. The lock must be held.
func (p *Peerings) setGuards() {
	guards := make([]*fence.Guard, 0, len(p.all))
	for _, o := range p.all {
		guards = append(guards, &o.tenure.guard)
	}
	p.deps.State.Records.Store(&guards)
}

// leaveOthers leaves all peering objects except the wanted ones, and waits until that is done, because each may be
// joined again.
func (p *Peerings) leaveOthers(wanted map[resources.Scope]*resources.Resource) {
	var left []*peeringObject
	p.mu.Lock()
	for scope, object := range p.all {
		if wanted[scope] == nil {
			delete(p.all, scope)
			object.stop()
			left = append(left, object)
		}
	}
	p.mu.Unlock()
	for _, object := range left {
		<-object.left
	}
}

// pauseIfMissing pauses the operator while the resource of mandatory peering objects is missing.
func (p *Peerings) pauseIfMissing(missing bool, kind string) {
	if !missing {
		if removed, _ := p.Pauses.Remove(kindMissing); removed {
			p.deps.Logger.Info("The cluster has a resource of peering objects now", observe.EventKey, observe.LogPeeringFound)
		}
		return
	}
	if p.Pauses.Add(kindMissing, inspect.Pause{Reason: "until the cluster has the kind " + kind}) {
		p.deps.Logger.Warn(fmt.Sprintf("Pausing until the cluster has the kind %s, as the peering is mandatory; apply the output of kopf manifests peering, or use --standalone", kind),
			observe.EventKey, observe.LogPeeringMissing)
	}
}

// join creates a peering object, and pauses the operator until its peers are known. The lock must be held.
func (p *Peerings) join(res *resources.Resource, scope resources.Scope) *peeringObject {
	d, settings := p.deps, &p.deps.Settings.Peering
	o := &peeringObject{
		deps: d, settings: settings, client: d.Client.WithoutRetries(), resource: res, namespace: scope.Namespace,
		handOver: p.HandOver, work: core.NewWakeup(), left: make(chan struct{}), place: p.places[scope.Namespace],
		own: ownRecord{identity: p.identity, joined: time.Now(), lifetime: settings.Lifetime},
	}
	o.ctx, o.stop = context.WithCancel(p.ctx)
	logger, name := d.Logger.With(observe.NameKey, "kopf.peering"), o.String()
	o.verdict = peeringVerdict{pauses: p.Pauses, key: PauseKey{Kind: inspect.PausePeering, name: name}, logger: logger, dev: p.dev}
	o.tenure = tenure{
		pauses: p.Pauses, key: PauseKey{Kind: inspect.PausePeering, name: "record in " + name}, newTerm: p.newTerm,
		logger: logger, object: name, lifetime: max(time.Second, settings.Lifetime.Truncate(time.Second)),
	}
	if o.place == nil {
		o.place = &peeringPlace{running: &p.running, objects: map[*peeringObject]presence{}}
		p.places[scope.Namespace] = o.place
	}
	o.place.join(o)
	p.Pauses.Add(o.verdict.key, inspect.Pause{Reason: "until the peers in " + name + " are known"})
	return o
}

// Close leaves all peering objects, so that other operators may resume, unless the operator's next process takes over.
// Call it only after all handlers, daemons and timers have ended.
func (p *Peerings) Close() {
	p.leave()
	p.running.Wait()
}
