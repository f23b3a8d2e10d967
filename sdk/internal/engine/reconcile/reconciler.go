// Package reconcile keeps the children of objects in the state that reconcile handlers want. It watches the children, adds reasons
// for passes to their parents, and applies and prunes children during passes.
package reconcile

import (
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Names of the labels and the annotation of children.
const (
	ownedByLabel        = "kopf.dev/owned-by"        // resource of the parent; the streams of children select this label
	ownerUIDLabel       = "kopf.dev/owner-uid"       // UID of the parent
	ownerNamespaceLabel = "kopf.dev/owner-namespace" // namespace of the parent; only on children outside of this namespace
	appliedName         = "applied"                  // follows the operator's prefix in the annotation with the hash of the applied object
)

// pace is the maximum number of writes per second by unprovoked passes, such as the passes after a start.
const pace rate.Limit = 20

// Reconciler keeps the children of all parents. It is safe for concurrent use.
type Reconciler struct {
	deps    *core.Deps
	prefix  string // prefix of the operator's annotations
	limiter *rate.Limiter

	mu       sync.Mutex
	families map[string]*family // families by the key of the parents' resource
	streams  map[streamKey]*stream
}

// NewPasses returns [NewReconciler] as the interface of the engine.
func NewPasses(d *core.Deps) core.Passes { return NewReconciler(d) }

// NewReconciler returns the reconciler of an operator. It watches nothing before a call of [Reconciler.Adjust].
func NewReconciler(d *core.Deps) *Reconciler {
	return &Reconciler{
		deps: d, prefix: state.FailuresBeside(d.Settings.Progress).Prefix, limiter: rate.NewLimiter(pace, int(pace)),
		families: map[string]*family{}, streams: map[streamKey]*stream{},
	}
}

// family has the parents of one resource and their children. Its lock guards all parents and children.
type family struct {
	reconciler *Reconciler
	resource   *resources.Resource // resource of the parents
	label      string              // value of the owned-by label
	manager    string              // field manager

	mu      sync.Mutex
	handler *handlers.Handler // nil outside of passes, in [Apply]
	kinds   []*kind           // owned kinds, in the order of the declarations
	watched []*watchedKind
	parents map[string]*parent
	brake   brake

	undeclared []string // recorded kinds without a declaration, for which a warning was logged
}

// kind is a declared kind of children.
type kind struct {
	family   *family
	owned    *handlers.Owned
	order    int                 // index of the declaration
	resource *resources.Resource // nil while the cluster does not serve the kind
	leftOut  bool                // the operator has logged that the cluster does not serve the optional kind
	lens     children.Lens
	children map[childName]*child

	recreations map[childName]*repeats // counted deletions by kopf.Own.Recreate; nil before the first deletion
}

// childName is the name of a child among the children of its kind.
type childName struct{ namespace, name string }

// child is an existing child.
type child struct {
	children.Digest

	kind    *kind
	managed []byte // JSON of the managedFields while the entry is not verified; otherwise nil

	verified uint64    // hash of the operator's entry (Digest.Entry) when it last covered all applied fields; 0 if unknown
	fight    *repeats  // reverts of changes by others; nil if there were none
	unstable *unstable // nil if the operator has sent no other object since the last change of the parent
	turned   int64     // Unix time in nanoseconds of the last change of the state; 0 if it is older than the process
	unready  int64     // Unix time in nanoseconds since which [handlers.Owned.ReadyWithin] counts; 0 while the child is ready
	verify   bool      // another client may have changed an applied field, so the next pass applies the child
	pruned   bool      // the operator has deleted the child, and the deletion event has not arrived
}

func (c *child) name() childName { return childName{c.Namespace(), c.Name} }

// parent is an object with a reconcile handler. The operator may know its children before the object itself.
type parent struct {
	uid      string
	object   *object.Object // newest known version; nil before the parent's first cycle
	children map[*child]struct{}

	essence uint64
	wakes   reasons.List
	budget  reasons.Budget
	pass    *Pass

	due   time.Time // time of the next pass without an event; zero if there is none
	timer *time.Timer

	outdated bool // other operators may have changed the object since the known version, because this one was paused
	begun    bool // there was a pass
	failed   bool // the last pass has failed permanently
	pacing   bool // the limiter has already counted the next unprovoked write
	braking  bool // the brake limits the pruning; false after a change of the object, a request, or a complete pruning
	waves    bool // the deletion of a pruned child wakes the parent, whose own deletion or next pruning waits for it
}

func newFamily(r *Reconciler, res *resources.Resource, h *handlers.Handler) *family {
	name := groupResource(res)
	return &family{
		reconciler: r, resource: res, handler: h, label: children.LabelValue(name), manager: children.Manager(r.prefix, name),
		parents: map[string]*parent{},
	}
}

// groupResource returns the plural with the group, such as webapps.example.com.
func groupResource(res *resources.Resource) string {
	if res.Group == "" {
		return res.Plural
	}
	return res.Plural + "." + res.Group
}

// lensOf returns the lens for the children of a kind.
func (f *family) lensOf(o *handlers.Owned, res *resources.Resource) children.Lens {
	return children.Lens{
		Manager: f.manager, OwnerLabel: ownerUIDLabel, StreamLabel: ownedByLabel, AppliedAnnotation: f.reconciler.prefix + "/" + appliedName,
		HasStatus: res.HasSubresource("status"), Observe: o.Observe, Once: o.Once, ReadyIf: readyIf(o),
	}
}

// readyIf returns the function of kopf.Own.ReadyIf as a rule of readiness; nil if it is nil. If the function panics, the state is
// Unknown.
func readyIf(o *handlers.Owned) func(*object.Object) children.Health {
	if o.ReadyIf == nil {
		return nil
	}
	return func(child *object.Object) children.Health {
		var err error
		if panicked := core.WithRecovery(func() { err = o.ReadyIf(child) }); panicked != nil {
			return children.Health{State: children.Unknown, Message: "ReadyIf: " + panicked.Error()}
		}
		switch {
		case err == nil:
			return children.Health{State: children.Ready, Message: "it is ready"}
		case handlers.ErrorKindOf(err) == handlers.KindPermanent:
			return children.Health{State: children.Failed, Message: err.Error()}
		}
		return children.Health{State: children.Progressing, Message: err.Error()}
	}
}

// parentOf returns the parent with a UID. It adds an empty parent if there is none. The lock must be held.
func (f *family) parentOf(uid string) *parent {
	p := f.parents[uid]
	if p == nil {
		p = &parent{uid: uid, children: map[*child]struct{}{}}
		f.parents[uid] = p
	}
	return p
}

// family returns the family of a resource; nil if the resource has no reconcile handler, or is not served.
func (r *Reconciler) family(resource string) *family {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.families[resource]
}

// Forget removes a parent that was deleted, or that this replica no longer handles. Its children stay known.
func (r *Reconciler) Forget(key queue.Key) {
	f := r.family(key.Resource)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.parents[key.Object]
	if p == nil {
		return
	}
	for _, k := range f.watched {
		k.table.Forget(key.Object)
	}
	p.disarm()
	f.unbrake(p)
	for c := range p.children {
		f.endAlarms(c)
	}
	if len(p.children) == 0 {
		delete(f.parents, key.Object)
		return
	}
	f.parents[key.Object] = &parent{uid: p.uid, children: p.children}
}

// wake adds a reason for a pass, and requeues the parent unless a pass is running or must wait. The lock must be held.
func (f *family) wake(p *parent, w reasons.Wake) {
	p.wakes.Add(w)
	if p.pass == nil && !f.postpone(p) {
		f.requeue(p)
	}
}

// postpone reports whether the next pass must wait for the budget. If so, it starts a timer for the pass. An impatient reason
// begins the pass earlier. The lock must be held.
func (f *family) postpone(p *parent) bool {
	now := f.reconciler.deps.Now()
	if !p.waitsForBudget(now) {
		return false
	}
	f.arm(p, "", p.budget.Wait(now))
	return true
}

// waitsForBudget reports whether all reasons for the next pass wait for the budget.
func (p *parent) waitsForBudget(now time.Time) bool {
	return p.wakes.Patient() && p.budget.Wait(now) > 0
}

// retriesLater reports whether the next pass waits for the end of a retry delay.
func (p *parent) retriesLater(b *core.Beginning, now time.Time) bool {
	return b.RetryAt.After(now) && p.wakes.Unprovoked()
}

// requeue makes the queue process the parent, unless its newest version has yet to arrive. The lock must be held.
func (f *family) requeue(p *parent) {
	if p.object == nil || p.outdated {
		return
	}
	f.reconciler.deps.Queue.Again(classOf(p.wakes), f.resource.Key(), requeued(p.object))
}

// classOf returns the class of a parent in the queue. A watched object can concern thousands of parents, which must not delay live
// changes.
func classOf(wakes reasons.List) queue.Class {
	live := func(w reasons.Wake) bool { return w.Kind == inspect.WakeChild || w.Kind == inspect.WakeRequest }
	switch {
	case wakes.Unprovoked():
		return queue.Listing
	case slices.ContainsFunc(wakes, live):
		return queue.Live
	}
	return queue.Due
}

// arm starts the timer of the next pass, unless a timer ends earlier. At the end, the timer adds a reason of the kind. If the kind
// is empty, it makes the present reasons impatient instead. The lock must be held.
func (f *family) arm(p *parent, kind inspect.WakeKind, after time.Duration) {
	due := f.reconciler.deps.Now().Add(after)
	if !p.due.IsZero() && p.due.Before(due) {
		return
	}
	p.disarm()
	p.due = due
	var timer *time.Timer
	timer = time.AfterFunc(max(0, after), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if p.timer == timer { // otherwise, the timer was disarmed while its function waited for the lock
			p.disarm()
			if kind == "" {
				p.wakes.Hurry()
				f.requeue(p)
				return
			}
			f.wake(p, reasons.Wake{Kind: kind})
		}
	})
	p.timer = timer
}

func (p *parent) disarm() {
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer, p.due = nil, time.Time{}
}

// living returns the kind and the name of an existing parent, such as "Shop demo"; empty if the operator handles no such parent.
func (f *family) living(uid string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.parents[uid]; p != nil && p.object != nil {
		return f.resource.Kind + " " + p.object.Name
	}
	return ""
}
