package reconcile

import (
	"context"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/internal/watched"
)

// slowMapping is the duration of a call of a mapping function after which the operator logs a warning, because the call blocks the
// stream.
const slowMapping = time.Second

// watchedKind is a resource of kopf.RefersTo or kopf.Watches: its objects cause passes of parents, but are not their children. The
// lock of the family guards it.
type watchedKind struct {
	family   *family
	declared *handlers.Watched
	resource *resources.Resource // nil while the cluster does not serve the resource
	owned    bool                // the handler also owns this resource, so that some objects may be children
	table    *watched.Table
}

// resolveWatched sets the watched resources. The lock must be held.
func (f *family) resolveWatched(known []resources.Resource) {
	for i := range f.handler.Watches {
		if i == len(f.watched) {
			declared := &f.handler.Watches[i]
			f.watched = append(f.watched, &watchedKind{family: f, declared: declared, table: watched.NewTable(declared.Map != nil)})
		}
		k := f.watched[i]
		found := selectOne(k.declared.Selector, known)
		if found != nil {
			k.owned = slices.ContainsFunc(f.kinds, func(o *kind) bool { return o.resource != nil && o.resource.Key() == found.Key() })
		}
		if found != nil && k.resource != nil && reflect.DeepEqual(found, k.resource) {
			continue
		}
		if k.resource != nil && (found == nil || found.Key() != k.resource.Key()) {
			k.forget("", nil) // the objects of a kind are deleted with its definition
		}
		if found != nil && k.resource == nil {
			f.wakeAll()
		}
		if k.resource = found; found == nil {
			continue
		}
		for _, p := range f.parents {
			if p.object != nil {
				k.follow(p.object) // the names in the fields depend on whether the resource is namespaced
			}
		}
	}
}

// follow sets the keys of a parent in all tables. It reports whether the keys in a table have changed. The lock must be held.
func (f *family) follow(parent *object.Object) (changed bool) {
	for _, k := range f.watched {
		changed = k.follow(parent) || changed
	}
	return changed
}

func (k *watchedKind) follow(parent *object.Object) bool {
	keys := []watched.Name{{Namespace: parent.Namespace, Name: parent.Name}}
	if k.declared.Map == nil {
		if k.resource == nil {
			return false // resolveWatched calls follow again when the cluster serves the resource
		}
		var err error
		if keys, err = watched.Names(parent, k.declared.Names, k.resource.Namespaced); err != nil {
			return false // unreachable, because the cycle has already decoded the parent
		}
	}
	return k.table.Follow(parent.UID, keys)
}

// served implements [source].
func (k *watchedKind) served() *resources.Resource { return k.resource }

// sharded implements [source]. It returns false, because an object can concern parents of all replicas.
func (k *watchedKind) sharded() bool { return false }

// scopes implements [source].
func (k *watchedKind) scopes(namespaces []string) []string {
	return scopesOf(k.family.resource, k.resource, false, namespaces)
}

// configure implements [source].
func (k *watchedKind) configure(o *watch.Options) { o.MetadataOnly = k.declared.MetadataOnly }

// observe implements [source].
func (k *watchedKind) observe(ctx context.Context, event watch.Event, initial bool) {
	o, f := event.Object, k.family
	name := watched.Name{Namespace: o.Namespace, Name: o.Name}
	if event.Type == watch.Deleted {
		f.mu.Lock()
		defer f.mu.Unlock()
		if parents, exists := k.table.Remove(name); exists {
			k.wake(parents, watch.Deleted, o, false)
		}
		return
	}
	f.mu.Lock()
	res, known := k.resource, k.table.Version(name)
	f.mu.Unlock()
	if res == nil || known == o.ResourceVersion {
		return
	}
	keys, err := k.mapped(ctx, event, res)
	if ctx.Err() != nil {
		return // the next stream lists all objects
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if k.resource == nil {
		return // the cluster no longer serves the resource
	}
	if err != nil {
		keys = k.table.Keys(name)
	}
	kind := watch.Modified
	if known == "" {
		kind = watch.Added
	}
	owner := ""
	if k.owned {
		owner = children.Label(o, ownerUIDLabel)
	}
	k.wake(k.table.Put(name, o.ResourceVersion, owner, keys), kind, o, initial)
}

// mapped returns the result of the mapping function; nil without a function. It logs an error of the function. The lock must not be
// held.
func (k *watchedKind) mapped(ctx context.Context, event watch.Event, res *resources.Resource) (keys []watched.Name, err error) {
	if k.declared.Map == nil {
		return nil, nil
	}
	subject := k.family.reconciler.deps.UnpostedSubject(nil, res, event.Object)
	slow := time.AfterFunc(slowMapping, func() {
		subject.Logger.Warn(fmt.Sprintf("The function of kopf.Watches is slow; it blocks the events of all %s", res.Plural),
			observe.EventKey, observe.LogIndexSlow)
	})
	defer slow.Stop()
	call := &handlers.Call{
		Cause:   &handlers.Cause{Resource: res, Object: event.Object, EventType: event.Type, Context: ctx},
		Handler: k.family.handler, Logger: subject.Logger, Recorder: subject.Recorder,
	}
	err = daemons.OnNewStack(func() (err error) {
		keys, err = k.declared.Map(ctx, call)
		return err
	})
	if err != nil && ctx.Err() == nil {
		err = subject.Secrets.Error(handlers.Readable(err))
		subject.Logger.With(observe.ErrorAttrs(err)...).Error("The function of kopf.Watches failed; the object keeps its previous parents",
			observe.EventKey, observe.LogWatchedUnmapped)
	}
	return keys, err
}

// retain implements [source].
func (k *watchedKind) retain(scope string, listed map[childName]bool) {
	k.family.mu.Lock()
	defer k.family.mu.Unlock()
	k.forget(scope, listed)
}

// forget removes the objects of a scope that are not listed. The lock must be held.
func (k *watchedKind) forget(scope string, listed map[childName]bool) {
	for name := range k.table.Objects() {
		if listed[childName{name.Namespace, name.Name}] || scope != "" && scope != name.Namespace {
			continue
		}
		parents, _ := k.table.Remove(name)
		k.wake(parents, watch.Deleted, object.Stub(k.resource.APIVersion(), k.resource.Kind, name.Namespace, name.Name, "", ""), true)
	}
}

// wake adds a reason for a pass to parents. During a list, it skips parents without an earlier pass. So passes after a start stay
// unprovoked, and the operator paces their writes. The lock must be held.
func (k *watchedKind) wake(parents []string, event string, o *object.Object, listing bool) {
	for _, uid := range parents {
		p := k.family.parents[uid]
		if p == nil || p.object == nil || p.object.Deleting || listing && !p.begun {
			continue
		}
		watched := &reasons.Child{Resource: k.resource, Digest: children.Identity(o), Lens: &children.Lens{}}
		k.family.wake(p, reasons.Wake{Kind: inspect.WakeWatched, Type: event, Child: watched})
	}
}

// Versions returns the resourceVersions of the watched objects of a resource that concern the parent, by their names. The key of an
// object in another namespace is "namespace/name". The map is nil if the handler does not watch the resource.
func (p *Pass) Versions(resource resources.Selector) map[string]string {
	f := p.family
	f.mu.Lock()
	defer f.mu.Unlock()
	var all map[string]string
	for _, k := range f.watched {
		if k.declared.Selector != resource {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		for name, version := range k.table.Versions(p.owner.UID) {
			key := name.Name
			if name.Namespace != "" && name.Namespace != p.owner.Namespace {
				key = name.String()
			}
			all[key] = version
		}
	}
	return all
}

// hashWatched returns a hash of the versions that [Pass.Versions] returns. The lock must be held.
func (f *family) hashWatched(parent string) (sum uint64) {
	for i, k := range f.watched {
		for name, version := range k.table.Versions(parent) {
			h := fnv.New64a()
			fmt.Fprintf(h, "%d %q %s", i, name, version)
			sum += h.Sum64()
		}
	}
	return sum
}
