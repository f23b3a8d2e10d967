// Package reviews calls admission handlers for the reviews of the API server, and maintains the webhook configurations.
package reviews

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ErrNoWayIn is wrapped by the error of an operator that has admission handlers but no server for their reviews.
var ErrNoWayIn = errors.New("the cluster has no way to reach the admission handlers")

// errServerEnded is the error of a webhook server that stops before the operator.
var errServerEnded = errors.New("the webhook server has stopped by itself")

// The reasons why an operator with admission handlers is not ready.
var (
	errUnconnected  = errors.New("the operator is not connected to the cluster yet")
	errUnregistered = errors.New("the webhooks are not registered in the cluster yet")
	errUnindexed    = errors.New("the indices are not complete yet; admission reviews wait for them")
)

// CheckWayIn returns an error if the operator has admission handlers but no server for their reviews.
func CheckWayIn(registry *handlers.Registry, settings *core.Settings) error {
	all := registry.Admission()
	if len(all) == 0 || settings.Admission.Serve != nil {
		return nil
	}
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.ID + " (" + h.ShortSource() + ")"
	}
	return fmt.Errorf("%w %s: set Settings.Admission.Server to a *webhook.Server, or use --webhook-listen; "+
		"kopf dev and kopf run choose a way in with --webhook=auto", ErrNoWayIn, strings.Join(names, ", "))
}

// AdmissionControl is the operator's part in admission: it answers reviews, and registers the webhooks in the cluster.
// It is nil if there are no admission handlers.
type AdmissionControl struct {
	deps     *core.Deps
	Reviews  *Reviews
	webhooks *webhooks
	gated    bool // reviews wait for the indices

	stopServing, stopManaging context.CancelFunc
	serving, managing         sync.WaitGroup
}

// NewAdmissionControl returns the admission control of an operator; nil if it has no admission handlers.
func NewAdmissionControl(ctx context.Context, d *core.Deps, m *memory.Memories, i *call.Invoker, identity string, inspected bool) *AdmissionControl {
	if len(d.Registry.Admission()) == 0 {
		return nil
	}
	return &AdmissionControl{
		deps: d, Reviews: newReviews(ctx, d, m, i, inspected), webhooks: newWebhooks(d, identity),
		gated: slices.ContainsFunc(d.Registry.All(), func(h *handlers.Handler) bool { return h.Family == handlers.Index }),
	}
}

// Start starts the server and the management of the webhooks. If the server fails, or ends before
// [AdmissionControl.Stop], it calls failed.
func (a *AdmissionControl) Start(ctx context.Context, failed func(error)) {
	if a == nil {
		return
	}
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	managing, stopManaging := context.WithCancel(context.WithoutCancel(ctx))
	a.stopServing, a.stopManaging = stopServing, stopManaging
	a.serving.Go(func() {
		err := a.deps.Settings.Admission.Serve(serving, a.deps.Logger, a.Reviews, a.announced)
		if err != nil || serving.Err() == nil {
			failed(cmp.Or(err, errServerEnded))
		}
	})
	a.managing.Go(func() { a.webhooks.run(managing) })
	if !a.Reviews.user.ask(ctx) { // asked before the operator makes changes
		a.managing.Go(func() { a.Reviews.user.keepAsking(managing) })
	}
}

// announced records the URL or service at which the API server reaches the server.
func (a *AdmissionControl) announced(client admission.ClientConfig) {
	prefix := client.Path()
	a.Reviews.prefix.Store(&prefix)
	a.deps.Logger.Debug("Serving admission reviews at "+client.String(), observe.EventKey, observe.LogWebhookServed)
	a.webhooks.announced(client)
}

// Serve sets the known resources and the served namespaces; no namespaces stand for the whole cluster.
func (a *AdmissionControl) Serve(rs []resources.Resource, namespaces []string) {
	if a == nil {
		return
	}
	a.Reviews.serve(rs)
	a.webhooks.serve(rs, namespaces)
	if !a.gated {
		a.Reviews.begin()
	}
}

// Unready returns the reason why reviews are not answered yet; nil if they are.
func (a *AdmissionControl) Unready() error {
	switch {
	case a == nil:
		return errUnconnected
	case !a.webhooks.registered.Load():
		return errUnregistered
	case !a.Reviews.begun():
		return errUnindexed
	}
	return nil
}

// Indexed unblocks the reviews that are waiting for the indices.
func (a *AdmissionControl) Indexed() {
	if a != nil {
		a.Reviews.begin()
	}
}

// Withdraw stops managing the webhooks, and removes the webhooks that are not persistent.
func (a *AdmissionControl) Withdraw(ctx context.Context) {
	if a == nil {
		return
	}
	a.stopManaging()
	a.managing.Wait()
	a.webhooks.withdraw(ctx)
}

// Stop stops the server, after it has answered the pending reviews.
func (a *AdmissionControl) Stop() {
	if a == nil {
		return
	}
	a.stopServing()
	a.serving.Wait()
}
