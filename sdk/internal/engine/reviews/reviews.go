package reviews

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Reviews answers the reviews of the API server, and registers the webhooks. It implements [AdmissionControl], and is safe for
// concurrent use.
type Reviews struct {
	deps     *core.Deps
	memories *memory.Memories
	invoker  *call.Invoker
	base     context.Context // base context of the handlers, with the indices
	history  *reviewHistory
	user     *ownUser
	ids      map[string]string // ids of the handlers, by id and by the name of the webhook
	prefix   atomic.Pointer[string]
	decoded  decoded
	webhooks *webhooks
	gated    bool // reviews wait for the indices

	stopServing, stopManaging context.CancelFunc
	serving, managing         sync.WaitGroup

	known     atomic.Pointer[map[admission.GroupVersionResource]*core.ServedResource]
	ready     chan struct{} // closed when reviews can be answered
	readyOnce sync.Once
}

// newReviews returns the HTTP handler for reviews, without webhooks. Handlers get the values of the context, but not its end.
func newReviews(ctx context.Context, d *core.Deps, m *memory.Memories, i *call.Invoker, inspected bool) *Reviews {
	r := &Reviews{
		decoded: newDecoded(),
		deps:    d, memories: m, invoker: i, base: context.WithoutCancel(ctx), ids: map[string]string{},
		history: newReviewHistory(d.Now(), inspected), user: &ownUser{deps: d}, ready: make(chan struct{}),
	}
	names := admission.Names(d.Registry.Admission())
	for id, name := range names {
		r.ids[name] = id
	}
	for id := range names {
		r.ids[id] = id
	}
	r.prefix.Store(new(string))
	return r
}

// serve sets the resources whose reviews are answered.
func (r *Reviews) serve(rs []resources.Resource) {
	known := make(map[admission.GroupVersionResource]*core.ServedResource, len(rs))
	for i := range rs {
		key := admission.GroupVersionResource{Group: rs[i].Group, Version: rs[i].Version, Resource: rs[i].Plural}
		known[key] = core.NewServedResource(r.deps.Registry, &rs[i], true)
	}
	r.known.Store(&known)
}

// Indexed implements [AdmissionControl].
func (r *Reviews) Indexed() { r.readyOnce.Do(func() { close(r.ready) }) }

// begun reports whether reviews are unblocked.
func (r *Reviews) begun() bool {
	select {
	case <-r.ready:
		return true
	default:
		return false
	}
}

// waitReady waits until the resources are known and the indices are complete.
func (r *Reviews) waitReady(ctx context.Context) error {
	if r.begun() {
		return nil
	}
	select {
	case <-r.ready:
		return nil
	case <-ctx.Done():
		return &admission.InvalidError{Status: http.StatusServiceUnavailable, Reason: "the operator is still starting"}
	}
}

// find returns the resource of a review.
func (r *Reviews) find(of admission.GroupVersionResource) (*core.ServedResource, error) {
	if known := r.known.Load(); known != nil {
		if res := (*known)[of]; res != nil {
			return res, nil
		}
	}
	return nil, &admission.InvalidError{Status: http.StatusNotFound, Reason: "the operator has no admission handlers of " + of.String()}
}
