// Package reviews calls admission handlers for the reviews of the API server, and maintains the webhook configurations.
package reviews

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/budget"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ErrNoWayIn is wrapped by the error of an operator that has admission handlers but no server for their reviews.
var ErrNoWayIn = errors.New("the cluster has no way to reach the admission handlers")

// CheckWayIn returns an error if the operator has admission handlers but no server for their reviews.
func CheckWayIn(registry *handlers.Registry, settings *core.Settings) error {
	all := registry.Admission()
	if planning.On() || len(all) == 0 || settings.Admission.Serve != nil { // the control plane of a plan calls no webhooks
		return nil
	}
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.ID + " (" + h.ShortSource() + ")"
	}
	return fmt.Errorf("%w %s: set Settings.Admission.Server to a *webhook.Server, or use --webhook-listen; "+
		"kopf dev and kopf run choose a way in with --webhook=auto", ErrNoWayIn, strings.Join(names, ", "))
}

// AdmissionControl is the operator's part in admission: it answers reviews, and registers the webhooks in the cluster. It is an
// interface, so that operators without admission handlers do not link its implementation.
type AdmissionControl interface {
	Start(ctx context.Context, failed func(error))      // starts the server and the webhooks; calls failed if the server ends before Stop
	Serve(rs []resources.Resource, namespaces []string) // sets the known resources and the served namespaces; nil stands for all
	Unready() error                                     // returns the reason why reviews are not answered yet; nil if they are
	Indexed()                                           // unblocks the reviews that are waiting for the indices
	Replay(id string) error                             // calls the handlers for an earlier review again
	Withdraw(ctx context.Context)                       // stops managing the webhooks, and removes the ones that are not persistent
	Stop()                                              // stops the server, after it has answered the pending reviews
}

// NewControl is a constructor of an operator's admission control. Handlers get the values of the context, but not its end.
type NewControl func(ctx context.Context, d *core.Deps, m *memory.Memories, i *call.Invoker, identity string, inspected bool) AdmissionControl

// NoAdmission is the admission control of an operator that has no admission handlers, or is not connected to the cluster yet.
var NoAdmission AdmissionControl = noAdmission{}

type noAdmission struct{}

func (noAdmission) Start(context.Context, func(error))   {}
func (noAdmission) Serve([]resources.Resource, []string) {}
func (noAdmission) Indexed()                             {}
func (noAdmission) Withdraw(context.Context)             {}
func (noAdmission) Stop()                                {}
func (noAdmission) Unready() error {
	return errors.New("the operator is not connected to the cluster yet")
}
func (noAdmission) Replay(string) error {
	return errors.New("the operator has no admission handlers, or is still starting")
}

// Reviews implements [AdmissionControl]. It is safe for concurrent use.
type Reviews struct {
	deps     *core.Deps
	memories *memory.Memories
	invoker  *call.Invoker
	base     context.Context // base context of the handlers, with the indices
	history  reviewHistory
	ownUser  atomic.Pointer[string] // name of the user of the operator's requests; nil until the API server has responded
	webhooks *webhooks

	small, large *budget.Budget // limits of the memory of the decoded objects; small reviews never wait for large ones

	stopServing, stopManaging context.CancelFunc
	serving, managing         sync.WaitGroup

	known   atomic.Pointer[map[admission.GroupVersionResource]*core.ServedResource]
	gated   bool // reviews wait for the indices
	indexed atomic.Bool
	ready   chan struct{} // closed when reviews can be answered
}

// NewAdmissionControl is the [NewControl] of operators with admission handlers.
func NewAdmissionControl(ctx context.Context, d *core.Deps, m *memory.Memories, i *call.Invoker, identity string, inspected bool) AdmissionControl {
	r := &Reviews{
		deps: d, memories: m, invoker: i, base: context.WithoutCancel(ctx), webhooks: newWebhooks(d, identity),
		small: budget.New(maxSmallDecoded), large: budget.New(maxDecoded), ready: make(chan struct{}),
		gated: slices.ContainsFunc(d.Registry.All(), func(h *handlers.Handler) bool { return h.Family == handlers.Index }),
	}
	if inspected { // only inspector clients request replays
		r.history.prefix = strconv.FormatInt(d.Now().UnixMilli(), 36) + "-"
	}
	return r
}

// Start implements [AdmissionControl].
func (r *Reviews) Start(ctx context.Context, failed func(error)) {
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	managing, stopManaging := context.WithCancel(context.WithoutCancel(ctx))
	r.stopServing, r.stopManaging = stopServing, stopManaging
	r.serving.Go(func() {
		err := r.deps.Settings.Admission.Serve(serving, r.deps.Logger, r, r.webhooks.announced)
		if err != nil || serving.Err() == nil {
			failed(cmp.Or(err, errors.New("the webhook server has stopped by itself")))
		}
	})
	r.managing.Go(func() { r.webhooks.run(managing) })
	if !r.askOwnUser(ctx) { // asked before the operator makes changes
		r.managing.Go(func() {
			for !r.askOwnUser(managing) && core.Sleep(managing, ownUserInterval) == nil {
			}
		})
	}
}

// Serve implements [AdmissionControl].
func (r *Reviews) Serve(rs []resources.Resource, namespaces []string) {
	known := make(map[admission.GroupVersionResource]*core.ServedResource, len(rs))
	for i := range rs {
		key := admission.GroupVersionResource{Group: rs[i].Group, Version: rs[i].Version, Resource: rs[i].Plural}
		known[key] = core.NewServedResource(r.deps.Registry, &rs[i], true)
	}
	r.known.Store(&known)
	r.webhooks.serve(rs, namespaces)
	if !r.gated {
		r.Indexed()
	}
}

// Indexed implements [AdmissionControl].
func (r *Reviews) Indexed() {
	if !r.indexed.Swap(true) {
		close(r.ready)
	}
}

// Unready implements [AdmissionControl].
func (r *Reviews) Unready() error {
	switch {
	case !r.webhooks.registered.Load():
		return errors.New("the webhooks are not registered in the cluster yet")
	case !r.indexed.Load():
		return errors.New("the indices are not complete yet; admission reviews wait for them")
	}
	return nil
}

// Withdraw implements [AdmissionControl].
func (r *Reviews) Withdraw(ctx context.Context) {
	r.stopManaging()
	r.managing.Wait()
	r.webhooks.withdraw(ctx)
}

// Stop implements [AdmissionControl].
func (r *Reviews) Stop() {
	r.stopServing()
	r.serving.Wait()
}

// find returns the resource of a review. It waits until the resources are known and the indices are complete.
func (r *Reviews) find(ctx context.Context, of admission.GroupVersionResource) (*core.ServedResource, error) {
	if !r.indexed.Load() {
		select {
		case <-r.ready:
		case <-ctx.Done():
			return nil, &admission.InvalidError{Status: http.StatusServiceUnavailable, Reason: "the operator is still starting"}
		}
	}
	if known := r.known.Load(); known != nil && (*known)[of] != nil {
		return (*known)[of], nil
	}
	return nil, &admission.InvalidError{Status: http.StatusNotFound, Reason: "the operator has no admission handlers of " + of.String()}
}
