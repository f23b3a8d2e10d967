package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// reporter tells the inspector what the operator does. All its methods, and those of
// its reports, do nothing on nil: without an inspector, that is all it costs.
type reporter struct {
	hub       *inspect.Hub
	places    map[*handlers.Handler]int // in the inspector's list
	overviews *overviews

	mu      sync.Mutex
	busy    map[inspect.Ref]struct{} // objects that are not settled
	pending map[string]string        // streams that have not been listed yet, and the resource of each
	unseen  map[queue.Key]dimension  // objects that were listed but not looked at yet, and their streams
	served  inspect.Served
}

func newReporter(hub *inspect.Hub, registry *handlers.Registry, indices *index.Indices) *reporter {
	if hub == nil {
		return nil
	}
	r := &reporter{
		hub:       hub,
		places:    map[*handlers.Handler]int{},
		overviews: newOverviews(registry, indices),
		busy:      map[inspect.Ref]struct{}{},
		pending:   map[string]string{},
		unseen:    map[queue.Key]dimension{},
	}
	all := registry.All()
	described := make([]inspect.Handler, len(all))
	for i, h := range all {
		r.places[h] = i
		described[i] = describeHandler(h)
	}
	hub.SetHandlers(described)
	r.overviews.served(hub, nil)
	return r
}

// serves tells which resources are served, and what cannot be.
func (r *reporter) serves(served []resources.Resource, unserved []inspect.Unserved) {
	if r == nil {
		return
	}
	r.overviews.served(r.hub, served)
	r.mu.Lock()
	defer r.mu.Unlock()
	resources := make([]inspect.Resource, len(served))
	for i, res := range served {
		resources[i] = inspect.Resource{Key: res.Key(), Kind: res.Kind, Short: shortName(&res), Namespaced: res.Namespaced}
	}
	r.served = inspect.Served{Resources: resources, Unserved: unserved}
	r.publishServed()
}

// listing tells that a stream begins, and listed that all its objects are known.
func (r *reporter) listing(stream, resource string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[stream] = resource
	r.publishServed()
}

// ended tells that a stream is no more, so that nothing of it is awaited.
func (r *reporter) ended(stream dimension) {
	if r == nil {
		return
	}
	r.listed(stream.String())
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.unseen, func(_ queue.Key, of dimension) bool { return of == stream })
	r.publishSettled()
}

// found tells of an event; those of a listing are awaited to be looked at.
func (r *reporter) found(stream dimension, key queue.Key, event watch.Event) {
	if r == nil || event.Type != watch.Listed {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unseen[key] = stream
}

// looked tells that an object has been looked at.
func (r *reporter) looked(key queue.Key) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, awaited := r.unseen[key]; !awaited {
		return
	}
	if delete(r.unseen, key); len(r.unseen) == 0 {
		r.publishSettled()
	}
}

func (r *reporter) listed(stream string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.pending[stream]; ok {
		delete(r.pending, stream)
		r.publishServed()
	}
}

func (r *reporter) publishServed() {
	served := inspect.Served{Resources: slices.Clone(r.served.Resources), Unserved: r.served.Unserved}
	for i := range served.Resources {
		served.Resources[i].Listed = true
		for _, key := range r.pending {
			if key == served.Resources[i].Key {
				served.Resources[i].Listed = false
			}
		}
	}
	r.hub.SetServed(served)
	r.publishSettled()
}

// operator changes what is known of the operator as a whole.
func (r *reporter) operator(update func(*inspect.Operator)) {
	if r != nil {
		r.hub.UpdateOperator(update)
	}
}

func (r *reporter) publishSettled() {
	settled := len(r.busy) == 0 && len(r.pending) == 0 && len(r.unseen) == 0
	r.hub.UpdateOperator(func(o *inspect.Operator) { o.Settled = settled })
}

// put publishes an object.
func (r *reporter) put(o inspect.Object) {
	r.hub.PutObject(o)
	settled := o.State == inspect.StateSettled || o.State == inspect.StateIgnored ||
		o.State == inspect.StateFailed && (o.Cause == nil || !o.Cause.Done.IsZero())
	r.mu.Lock()
	defer r.mu.Unlock()
	_, was := r.busy[o.Ref]
	switch {
	case settled && was:
		delete(r.busy, o.Ref)
	case !settled && !was:
		r.busy[o.Ref] = struct{}{}
	default:
		return
	}
	r.publishSettled()
}

// drop tells that an object is gone, or not served any more.
func (r *reporter) drop(ref inspect.Ref) {
	if r == nil {
		return
	}
	r.hub.DropObject(ref)
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, was := r.busy[ref]; was {
		delete(r.busy, ref)
		r.publishSettled()
	}
}

// ran counts an attempt in the statistics of its handler.
func (r *reporter) ran(h *handlers.Handler, at time.Time, took time.Duration, final bool, err error) {
	if r == nil {
		return
	}
	index, known := r.places[h] // sub-handlers are not in the list
	if !known {
		return
	}
	run := inspect.Run{At: at, Took: took}
	if err != nil {
		run.Error, run.Outcome = err.Error(), inspect.RunRetried
		if final {
			run.Outcome = inspect.RunFailed
		}
	}
	r.hub.HandlerRan(index, run)
}

func refOf(res *resources.Resource, object *object.Object) inspect.Ref {
	return inspect.Ref{Resource: res.Key(), Namespace: object.Namespace, Name: object.Name, UID: object.UID}
}

func shortName(res *resources.Resource) string {
	if len(res.Shortcuts) > 0 {
		return res.Shortcuts[0]
	}
	if res.Singular != "" {
		return res.Singular
	}
	return res.Plural
}

func describeHandler(h *handlers.Handler) inspect.Handler {
	d := inspect.Handler{
		ID: h.ID, Kind: string(h.Family), Selector: h.Selector.String(), Field: h.Field.String(), Source: shortSource(h.Source),
	}
	if h.Retries != nil {
		d.Retries = *h.Retries
	}
	for name, criterion := range sorted(h.Labels) {
		d.Filters = append(d.Filters, "label "+name+"="+criterion.Wants())
	}
	for name, criterion := range sorted(h.Annotations) {
		d.Filters = append(d.Filters, "annotation "+name+"="+criterion.Wants())
	}
	if h.Value != nil {
		d.Filters = append(d.Filters, "value="+h.Value.Wants())
	}
	if h.Old != nil {
		d.Filters = append(d.Filters, "old="+h.Old.Wants())
	}
	if h.New != nil {
		d.Filters = append(d.Filters, "new="+h.New.Wants())
	}
	if h.When != nil {
		d.Filters = append(d.Filters, "when "+h.WhenName)
	}
	return d
}
