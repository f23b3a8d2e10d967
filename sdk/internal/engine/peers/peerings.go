// Package peers pauses the operator while others have precedence: the operators of a peering, the elected replica, or a
// user of the inspector.
package peers

import (
	"context"
	"errors"
	"fmt"
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
// cluster, or one in each served namespace. A peer with precedence in any of them pauses all handling.
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
	p.checkKind(peering.Kind(namespaced), len(found) == 0)
	if !namespaced {
		namespaces = []string{""}
	}
	wanted := map[resources.Scope]*resources.Resource{}
	for _, res := range found {
		for _, ns := range namespaces {
			wanted[resources.Scope{Resource: res.Key(), Namespace: ns}] = res
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leaveOthers(wanted)
	var joined []*peeringObject
	for scope, res := range wanted {
		if p.all[scope] == nil {
			p.all[scope] = p.join(res, scope)
			joined = append(joined, p.all[scope])
		}
	}
	guards := make([]*fence.Guard, 0, len(p.all)) // new work depends on the validity of the operator's records
	for _, o := range p.all {
		guards = append(guards, &o.tenure.guard)
	}
	p.deps.State.Records.Store(&guards)
	for _, o := range joined { // all objects know their place before the first one runs
		p.running.Go(func() { o.run(o.ctx) })
	}
}

// leaveOthers leaves all objects except the wanted ones, and waits, because each may be joined again. The lock must be held; leaveOthers
// releases it while it waits.
func (p *Peerings) leaveOthers(wanted map[resources.Scope]*resources.Resource) {
	var left []*peeringObject
	for scope, object := range p.all {
		if wanted[scope] == nil {
			delete(p.all, scope)
			object.stop()
			left = append(left, object)
		}
	}
	p.mu.Unlock()
	defer p.mu.Lock()
	for _, object := range left {
		<-object.left
	}
}

// checkKind pauses the operator while the kind of mandatory peering objects is missing, or warns a development session once.
func (p *Peerings) checkKind(kind string, missing bool) {
	if missing && p.deps.Settings.Peering.Mandatory {
		if p.Pauses.Add(kindMissing, inspect.Pause{Reason: "until the cluster has the kind " + kind}) {
			p.deps.Logger.Warn(fmt.Sprintf("Pausing until the cluster has the kind %s, as the peering is mandatory; apply the output of kopf manifests peering, or use --standalone", kind),
				observe.EventKey, observe.LogPeeringMissing)
		}
	} else if removed, _ := p.Pauses.Remove(kindMissing); removed {
		p.deps.Logger.Info("The cluster has a resource of peering objects now", observe.EventKey, observe.LogPeeringFound)
	}
	if missing && p.dev && !p.warned {
		p.warned = true
		p.deps.Logger.Warn("The cluster has no "+kind+": "+actBeside, observe.EventKey, observe.LogPeeringMissing)
	}
}

// join creates a peering object, and pauses the operator until its peers are known. The lock must be held.
func (p *Peerings) join(res *resources.Resource, scope resources.Scope) *peeringObject {
	d, settings := p.deps, &p.deps.Settings.Peering
	o := &peeringObject{
		deps: d, settings: settings, client: d.Client.WithoutRetries(), resource: res, handOver: p.HandOver,
		name:  inspect.Peering{Kind: peering.Kind(res.Namespaced), Group: res.Group, Namespace: scope.Namespace, Name: settings.Name},
		place: p.places[scope.Namespace], left: make(chan struct{}), work: core.NewWakeup(),
		own: ownRecord{identity: p.identity, joined: time.Now(), lifetime: settings.Lifetime},
	}
	if o.place == nil {
		o.place = &peeringPlace{objects: map[*peeringObject]bool{}}
		p.places[scope.Namespace] = o.place
	}
	o.ctx, o.stop = context.WithCancel(p.ctx)
	logger, name := d.Logger.With(observe.NameKey, "kopf.peering"), o.name.String()
	o.verdict = peeringVerdict{
		pauses: p.Pauses, key: PauseKey{Kind: inspect.PausePeering, name: name}, logger: logger, object: name, mandatory: settings.Mandatory, dev: p.dev,
	}
	o.tenure = tenure{
		lock: o.place, pauses: p.Pauses, key: PauseKey{Kind: inspect.PausePeering, name: "record in " + name}, newTerm: p.newTerm,
		logger: logger, object: name, lifetime: max(time.Second, settings.Lifetime.Truncate(time.Second)),
	}
	p.Pauses.Add(o.verdict.key, inspect.Pause{Reason: "until the peers in " + name + " are known"})
	o.place.Lock()
	defer o.place.Unlock()
	o.place.objects[o] = true
	return o
}

// Close leaves all peering objects, so that other operators may resume, unless the operator's next process takes over.
// Call it only after all handlers, daemons and timers have ended.
func (p *Peerings) Close() {
	p.leave()
	p.running.Wait()
}

// Freeze pauses all operators with a lower priority than [peering.FreezePriority] in all peering objects of this
// operator, as "kopf freeze" does.
func (p *Peerings) Freeze(ctx context.Context, lifetime string) error {
	limit, err := time.ParseDuration(lifetime)
	if err != nil || limit < time.Second {
		return fmt.Errorf("freeze: for how long? %q is not a duration of at least a second", lifetime)
	}
	now := time.Now()
	peer := &peering.Peer{
		Identity: peering.PersonalIdentity(), Priority: peering.FreezePriority, Lifetime: limit, LastSeen: now, Since: now,
		Message: "frozen for " + limit.String(),
	}
	return p.writeAll(ctx, peer)
}

// ReleasePeer removes the record of a peer.
func (p *Peerings) ReleasePeer(ctx context.Context, identity string) error {
	switch {
	case identity == "":
		return errors.New("release: which peer?")
	case identity == p.identity:
		return errors.New("release: this operator would come back at once; pause it, or stop it")
	}
	return p.writeAll(ctx, &peering.Peer{Identity: identity})
}

func (p *Peerings) writeAll(ctx context.Context, peer *peering.Peer) error {
	var objects []*peeringObject
	p.mu.Lock()
	for _, object := range p.all {
		object.place.Lock()
		if object.newest != nil {
			objects = append(objects, object)
		}
		object.place.Unlock()
	}
	p.mu.Unlock()
	if len(objects) == 0 {
		return errors.New("this operator takes part in no peering")
	}
	for _, object := range objects {
		patched, err := object.write(ctx, "", peer)
		if err != nil {
			return peering.Missing(err, object.name.Kind, object.name.Namespace, object.name.Name)
		}
		object.see(patched, false)
	}
	return nil
}
