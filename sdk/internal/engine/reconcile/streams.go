package reconcile

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// streamKey identifies the stream of the children of one kind in one namespace, of all parents of a resource.
type streamKey struct {
	parents  string // key of the parents' resource
	children string // key of the children's resource
	order    int    // position of the kind
	scope    string // namespace; empty for the whole cluster
}

// stream is a running stream of children.
type stream struct {
	cancel context.CancelFunc
	done   chan struct{}
	listed bool // all existing children are known
	gains  int  // value of Shards.Gains at the start

	resource *resources.Resource // resource of the children when the stream started
}

// Adjust watches the children of the served parents, and of no others. It waits until the streams that are not needed
// have ended. Known are all resources of the cluster; the empty namespace is the whole cluster.
func (r *Reconciler) Adjust(ctx context.Context, served, known []resources.Resource, namespaces []string) {
	wanted := map[streamKey]*kind{}
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
		for _, k := range f.kinds {
			if k.resource == nil {
				continue
			}
			for _, scope := range scopesOf(&served[i], k, namespaces) {
				wanted[streamKey{key, k.resource.Key(), k.order, scope}] = k
			}
		}
	}
	gains := r.deps.Shards.Gains()
	ended := r.takeStreams(func(key streamKey, s *stream) bool {
		return wanted[key] == nil || wanted[key].resource != s.resource || s.gains != gains
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
	for key, k := range wanted {
		if r.streams[key] == nil {
			r.streams[key] = r.start(ctx, key, r.families[key.parents], k)
		}
	}
	for key, f := range r.families {
		if r.isListed(key) { // a list that was awaited may be needed no longer
			f.requeueWaiting()
		}
	}
}

// scopesOf returns the namespaces in which the children of a kind are watched: those of the parents or, if the parents are
// cluster-scoped or have children elsewhere, all.
func scopesOf(parents *resources.Resource, k *kind, namespaces []string) []string {
	if !parents.Namespaced || !k.resource.Namespaced || k.owned.Elsewhere {
		return []string{""}
	}
	return namespaces
}

// Stop ends all streams, and keeps the known children.
func (r *Reconciler) Stop() {
	r.mu.Lock()
	ended := r.takeStreams(func(streamKey, *stream) bool { return true })
	r.mu.Unlock()
	wait(ended)
}

// takeStreams cancels and removes the matching streams. The lock must be held; the streams may be waiting for it.
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

// resolve sets the resources of the owned kinds.
func (f *family) resolve(known []resources.Resource) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.handler.Owns {
		if i == len(f.kinds) {
			f.kinds = append(f.kinds, &kind{owned: &f.handler.Owns[i], order: i, children: map[childName]*child{}})
		}
		k := f.kinds[i]
		var found *resources.Resource
		if selected := k.owned.Selector.Select(known); len(selected) == 1 {
			found = &selected[0]
		}
		if found != nil && k.resource != nil && reflect.DeepEqual(found, k.resource) {
			continue
		}
		if k.resource != nil && (found == nil || found.Key() != k.resource.Key()) {
			for name := range k.children { // without its definition, no object of a kind exists
				f.remove(k, name)
			}
		}
		if found != nil && k.resource == nil {
			f.serveAgain()
		}
		k.resource = found
		if found != nil {
			k.lens = f.lensOf(k.owned, found)
		}
	}
}

// serveAgain adds a pass for all parents, because they may wait for a kind that the cluster serves now. The lock must be held.
func (f *family) serveAgain() {
	for _, p := range f.parents {
		if p.object != nil {
			p.add(Wake{Kind: WakeRecheck})
		}
	}
}

// dissolve stops the timers of all parents.
func (f *family) dissolve() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.parents {
		p.disarm()
	}
}

// start starts a stream. The lock must be held.
func (r *Reconciler) start(ctx context.Context, key streamKey, f *family, k *kind) *stream {
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{cancel: cancel, done: make(chan struct{}), gains: r.deps.Shards.Gains(), resource: k.resource}
	settings, res := r.deps.Settings, k.resource
	metadataOnly, keeps := k.lens.MetadataOnly(), r.keeps(f, k) // the goroutine has no lock
	listing := map[childName]bool{}                             // the children of the first list
	go func() {
		defer close(s.done)
		watch.Run(ctx, watch.Options{
			Client: r.deps.Client, Resource: res, Namespace: key.scope, LabelSelector: ownedByLabel + "=" + f.label,
			KeepManagedFields: true, MetadataOnly: metadataOnly, Keep: keeps,
			Handle: func(event watch.Event) {
				initial := !s.listed
				if initial {
					listing[nameOf(event.Object)] = true
				}
				f.observe(k, event, initial)
			},
			Listed: func(int) {
				if !s.listed {
					f.retain(k, key.scope, listing)
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
		})
	}()
	return s
}

// keeps returns whether this replica handles the parent of a child; nil if it handles all.
func (r *Reconciler) keeps(f *family, k *kind) func(*object.Object) bool {
	own := r.deps.Shards
	if own == nil {
		return nil
	}
	lens := k.lens
	return func(o *object.Object) bool {
		parent := &object.Object{UID: lens.OwnerOf(o)}
		if f.resource.Namespaced {
			parent.Namespace = cmp.Or(children.Label(o, ownerNamespaceLabel), o.Namespace)
		}
		if parent.UID == "" { // the child was deleted during an interruption: its event has only its name
			f.mu.Lock()
			defer f.mu.Unlock()
			return k.children[nameOf(o)] != nil
		}
		return own.ActsOnParent(parent)
	}
}

// listed notes that a stream knows all its children, and requeues the parents that have waited for that.
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

// requeueWaiting requeues the parents whose passes have waited for the lists.
func (f *family) requeueWaiting() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.parents {
		if p.object != nil && p.pass == nil && len(p.wakes) > 0 {
			f.requeue(p)
		}
	}
}

// isListed reports whether all children of a resource's parents are known. The lock must be held.
func (r *Reconciler) isListed(parents string) bool {
	gains := r.deps.Shards.Gains() // a stream from before the last gain lacks children
	for key, s := range r.streams {
		if key.parents == parents && (!s.listed || s.gains != gains) {
			return false
		}
	}
	return true
}

// ready reports whether the passes of a family may begin: its children are known, as far as the cluster serves their kinds.
func (r *Reconciler) ready(f *family) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isListed(f.resource.Key()) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(f.kinds, func(k *kind) bool { return k.resource != nil && !r.watches(f, k) })
}

// watches reports whether a kind has a stream. The lock must be held.
func (r *Reconciler) watches(f *family, k *kind) bool {
	for key := range r.streams {
		if key.parents == f.resource.Key() && key.order == k.order {
			return true
		}
	}
	return false
}
