package reconcile

import (
	"cmp"
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// streamKey identifies the stream of a source in one namespace, for all parents of a resource.
type streamKey struct {
	parents string // key of the parents' resource
	objects string // key of the objects' resource
	order   int    // index of the source in family.sources
	scope   string // namespace; empty for the whole cluster
}

// source is a kind of children, or a watched resource.
type source interface {
	served() *resources.Resource         // nil while the cluster does not serve the resource
	sharded() bool                       // reports whether the stream has only the objects of this replica's parents
	scopes(namespaces []string) []string // returns the namespaces to watch; "" is the whole cluster
	configure(o *watch.Options)

	// observe handles an event. If initial, the event belongs to the first list of a stream.
	observe(ctx context.Context, event watch.Event, initial bool)

	// retain removes the objects of a scope that are not in the first list of a stream, because they were deleted while no stream
	// was running.
	retain(scope string, listed map[childName]bool)
}

// stream is a running watch of a source in one namespace, or in the whole cluster.
type stream struct {
	source source
	cancel context.CancelFunc
	done   chan struct{}
	listed bool // the first list has ended, so all objects are known
	gains  int  // value of Shards.Gains at the start of the stream

	resource *resources.Resource // resource of the objects at the start of the stream
}

// lacks reports whether the stream may lack children because it started before the last gain of shards.
func (s *stream) lacks(gains int) bool { return s.source.sharded() && s.gains != gains }

// Adjust starts the streams for the children and the watched objects of the served resources. It stops all other streams, and waits
// until they have ended. Known has all resources of the cluster; the namespace "" is the whole cluster.
func (r *Reconciler) Adjust(ctx context.Context, served, known []resources.Resource, namespaces []string) {
	wanted := map[streamKey]source{}
	r.mu.Lock()
	keep := map[string]bool{}
	for i := range served {
		set := r.deps.Registry.ForResource(&served[i])
		h := set.Reconciler()
		if h == nil {
			continue
		}
		key := served[i].Key()
		keep[key] = true
		f := r.families[key]
		if f == nil {
			f = newFamily(r, &served[i], h)
			r.families[key] = f
		}
		f.resolve(known)
		for order, objects := range f.sources() {
			if objects.served() == nil {
				continue
			}
			for _, scope := range objects.scopes(namespaces) {
				wanted[streamKey{key, objects.served().Key(), order, scope}] = objects
			}
		}
	}
	gains := r.deps.Shards.Gains()
	ended := r.takeStreams(func(key streamKey, s *stream) bool {
		return wanted[key] == nil || wanted[key].served() != s.resource || s.lacks(gains)
	})
	r.mu.Unlock()
	wait(ended)
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.families {
		if !keep[key] {
			r.families[key].dissolve()
			delete(r.families, key)
		}
	}
	for key, objects := range wanted {
		if r.streams[key] == nil {
			r.streams[key] = r.start(ctx, key, r.families[key.parents], objects)
		}
	}
	for key, f := range r.families {
		if r.isListed(key) { // a stopped stream may have been the last one without a list
			f.requeueWaiting()
		}
	}
}

// sources returns the owned kinds and the watched resources, in the order of their streams.
func (f *family) sources() []source {
	var all []source
	for _, k := range f.kinds {
		all = append(all, k)
	}
	for _, k := range f.watched {
		all = append(all, k)
	}
	return all
}

// scopesOf returns the namespaces in which the operator watches the objects of a resource: the served namespaces, or all namespaces
// if the parents or the objects are cluster-scoped, or if children can be elsewhere.
func scopesOf(parents, objects *resources.Resource, elsewhere bool, namespaces []string) []string {
	if !parents.Namespaced || !objects.Namespaced || elsewhere {
		return []string{""}
	}
	return namespaces
}

// Stop ends all streams, but keeps the known children. Parents have no passes until their newest versions arrive.
func (r *Reconciler) Stop() {
	r.mu.Lock()
	ended := r.takeStreams(func(streamKey, *stream) bool { return true })
	families := slices.Collect(maps.Values(r.families))
	r.mu.Unlock()
	wait(ended)
	for _, f := range families {
		f.mu.Lock()
		for _, p := range f.parents {
			p.outdated = true
		}
		f.mu.Unlock()
	}
}

// takeStreams cancels and removes the matching streams, and returns them. The lock must be held. The caller must release the lock
// before it waits for the streams, because they may need the lock.
func (r *Reconciler) takeStreams(which func(streamKey, *stream) bool) (taken []*stream) {
	for key, s := range r.streams {
		if which(key, s) {
			s.cancel()
			taken = append(taken, s)
			delete(r.streams, key)
		}
	}
	return taken
}

func wait(ended []*stream) {
	for _, s := range ended {
		<-s.done
	}
}

// resolve sets the resources of the owned kinds and the watched resources.
func (f *family) resolve(known []resources.Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.handler.Owns {
		if i == len(f.kinds) {
			f.kinds = append(f.kinds, &kind{family: f, owned: &f.handler.Owns[i], order: i, children: map[childName]*child{}})
		}
		k := f.kinds[i]
		found := selectOne(k.owned.Selector, known)
		if found != nil && k.resource != nil && reflect.DeepEqual(found, k.resource) {
			continue
		}
		if k.resource != nil && (found == nil || found.Key() != k.resource.Key()) {
			for name := range k.children { // the objects of a kind are deleted with its definition
				f.remove(k, name)
			}
			f.dropBrake(k.resource.Key())
		}
		if found != nil && k.resource == nil || found == nil && k.resource != nil && k.owned.Optional {
			f.wakeAll()
		}
		k.resource = found
		if found != nil {
			k.lens, k.leftOut = f.lensOf(k.owned, found), false
		}
	}
	f.resolveWatched(known)
}

// selectOne returns the selected resource; nil if the selector selects none, or several.
func selectOne(selector resources.Selector, known []resources.Resource) *resources.Resource {
	if selected := selector.Select(known); len(selected) == 1 {
		return &selected[0]
	}
	return nil
}

// wakeAll adds a pass for all parents, because they may wait for a kind that the cluster serves now, or for children of an optional kind
// that the cluster no longer serves. The lock must be held.
func (f *family) wakeAll() {
	for _, p := range f.parents {
		if p.object != nil {
			p.wakes.Add(reasons.Wake{Kind: inspect.WakeRecheck})
		}
	}
}

// dissolve stops the timers of all parents, and ends the alarms.
func (f *family) dissolve() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.parents {
		p.disarm()
		f.unbrake(p)
		for c := range p.children {
			f.endAlarms(c)
		}
	}
}

// start starts a stream. The lock must be held.
func (r *Reconciler) start(ctx context.Context, key streamKey, f *family, objects source) *stream {
	ctx, cancel := context.WithCancel(ctx)
	res, settings := objects.served(), r.deps.Settings
	s := &stream{source: objects, cancel: cancel, done: make(chan struct{}), gains: r.deps.Shards.Gains(), resource: res}
	listing := map[childName]bool{} // names in the first list
	options := watch.Options{
		Client: r.deps.Client, Resource: res, Namespace: key.scope,
		Handle: func(event watch.Event) {
			initial := !s.listed
			if initial {
				listing[nameOf(event.Object)] = true
			}
			objects.observe(ctx, event, initial)
		},
		Listed: func(int) {
			if !s.listed {
				objects.retain(key.scope, listing)
				listing = nil
				r.listed(s, f)
			}
		},
		Restarted: func(restart watch.Restart) {
			observe.Emit(r.deps.Sink, observe.StreamChanged{
				Stream: resources.Scope{Resource: res.Key(), Namespace: key.scope}, Phase: observe.StreamRestarted, Restart: restart,
			})
		},
		ServerTimeout: settings.ServerTimeout, ClientTimeout: settings.ClientTimeout,
		InactivityTimeout: settings.InactivityTimeout, ReconnectBackoff: settings.ReconnectBackoff,
		Logger: r.deps.Logger.With(observe.NameKey, "kopf.watching", observe.EventKey, observe.LogStreamDetail),
	}
	objects.configure(&options) // outside of the goroutine, because configure needs the lock
	go func() {
		defer close(s.done)
		watch.Run(ctx, options)
	}()
	return s
}

// keeps returns a filter for the children whose parents this replica handles; nil if it handles all parents.
func (k *kind) keeps() func(*object.Object) bool {
	f := k.family
	own := f.reconciler.deps.Shards
	if own == nil {
		return nil
	}
	lens := k.lens
	return func(o *object.Object) bool {
		parent := &object.Object{UID: lens.OwnerOf(o)}
		if f.resource.Namespaced {
			parent.Namespace = cmp.Or(children.Label(o, ownerNamespaceLabel), o.Namespace)
		}
		if parent.UID == "" { // the event of a child that was deleted during an interruption has only the name
			f.mu.Lock()
			defer f.mu.Unlock()
			return k.children[nameOf(o)] != nil
		}
		return own.Own.Load().Has(own.Division.Of(parent))
	}
}

// listed marks a stream as listed. If all streams of the family are listed, it requeues the waiting parents.
func (r *Reconciler) listed(s *stream, f *family) {
	r.mu.Lock()
	s.listed = true
	ready := r.isListed(f.resource.Key())
	r.mu.Unlock()
	if !ready {
		return
	}
	f.requeueWaiting()
}

// requeueWaiting requeues the parents that have reasons for a pass, because their passes may begin now.
func (f *family) requeueWaiting() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.parents {
		if p.pass == nil && len(p.wakes) > 0 {
			f.requeue(p)
		}
	}
}

// isListed reports whether all streams for the parents of a resource are listed. The lock must be held.
func (r *Reconciler) isListed(parents string) bool {
	gains := r.deps.Shards.Gains()
	for key, s := range r.streams {
		if key.parents == parents && (!s.listed || s.lacks(gains)) {
			return false
		}
	}
	return true
}

// ready reports whether the passes of a family may begin: the operator must know all children and watched objects whose kinds the
// cluster serves.
func (r *Reconciler) ready(f *family) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isListed(f.resource.Key()) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for order, objects := range f.sources() {
		if objects.served() != nil && !r.watches(f, order) {
			return false
		}
	}
	return true
}

// watches reports whether the source with an index has a stream. The lock must be held.
func (r *Reconciler) watches(f *family, order int) bool {
	for key := range r.streams {
		if key.parents == f.resource.Key() && key.order == order {
			return true
		}
	}
	return false
}
