// Package reviews calls admission handlers for the reviews of the API server, and maintains the webhook configurations.
package reviews

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/planning"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ErrNoWayIn is wrapped by the error of an operator that has admission handlers but no server for their reviews.
var ErrNoWayIn = errors.New("the cluster has no way to reach the admission handlers")

var errServerEnded = errors.New("the webhook server has stopped by itself")

// The reasons why an operator with admission handlers is not ready.
var (
	errUnconnected  = errors.New("the operator is not connected to the cluster yet")
	errUnregistered = errors.New("the webhooks are not registered in the cluster yet")
	errUnindexed    = errors.New("the indices are not complete yet; admission reviews wait for them")
)

// CheckWayIn returns an error if the operator has admission handlers but no server for their reviews.
func CheckWayIn(registry *handlers.Registry, settings *core.Settings) error {
	if planning.On() { // the control plane of a plan calls no webhooks
		return nil
	}
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

// AdmissionControl is the operator's part in admission: it answers reviews, and registers the webhooks in the cluster. It is an
// interface, so that operators without admission handlers do not link its implementation.
type AdmissionControl interface {
	// Start starts the server and the management of the webhooks. If the server fails, or ends before Stop, it calls failed.
	Start(ctx context.Context, failed func(error))

	// Serve sets the known resources and the served namespaces; no namespaces stand for the whole cluster.
	Serve(rs []resources.Resource, namespaces []string)

	// Unready returns the reason why reviews are not answered yet; nil if they are.
	Unready() error

	// Indexed unblocks the reviews that are waiting for the indices.
	Indexed()

	// Replay calls the handlers for an earlier review again. If it fails, it returns the reason.
	Replay(id string) (reason string)

	// Withdraw stops managing the webhooks, and removes the webhooks that are not persistent.
	Withdraw(ctx context.Context)

	// Stop stops the server, after it has answered the pending reviews.
	Stop()
}

// NewControl is a constructor of an operator's admission control. Handlers get the values of the context, but not its end.
type NewControl func(ctx context.Context, d *core.Deps, m *memory.Memories, i *call.Invoker, identity string, inspected bool) AdmissionControl

// NoAdmission is the admission control of an operator that has no admission handlers, or is not connected to the cluster yet.
var NoAdmission AdmissionControl = noAdmission{}

type noAdmission struct{}

func (noAdmission) Start(context.Context, func(error))   {}
func (noAdmission) Serve([]resources.Resource, []string) {}
func (noAdmission) Unready() error                       { return errUnconnected }
func (noAdmission) Indexed()                             {}
func (noAdmission) Replay(string) string {
	return "the operator has no admission handlers, or is still starting"
}
func (noAdmission) Withdraw(context.Context) {}
func (noAdmission) Stop()                    {}

// NewAdmissionControl is the [NewControl] of operators with admission handlers.
func NewAdmissionControl(ctx context.Context, d *core.Deps, m *memory.Memories, i *call.Invoker, identity string, inspected bool) AdmissionControl {
	r := newReviews(ctx, d, m, i, inspected)
	r.webhooks = newWebhooks(d, identity)
	r.gated = slices.ContainsFunc(d.Registry.All(), func(h *handlers.Handler) bool { return h.Family == handlers.Index })
	return r
}

// Start implements [AdmissionControl].
func (r *Reviews) Start(ctx context.Context, failed func(error)) {
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	managing, stopManaging := context.WithCancel(context.WithoutCancel(ctx))
	r.stopServing, r.stopManaging = stopServing, stopManaging
	r.serving.Go(func() {
		err := r.deps.Settings.Admission.Serve(serving, r.deps.Logger, r, r.announced)
		if err != nil || serving.Err() == nil {
			failed(cmp.Or(err, errServerEnded))
		}
	})
	r.managing.Go(func() { r.webhooks.run(managing) })
	if !r.user.ask(ctx) { // asked before the operator makes changes
		r.managing.Go(func() { r.user.keepAsking(managing) })
	}
}

// announced records the URL or service at which the API server reaches the server.
func (r *Reviews) announced(client admission.ClientConfig) {
	prefix := client.Path()
	r.prefix.Store(&prefix)
	r.deps.Logger.Debug("Serving admission reviews at "+client.String(), observe.EventKey, observe.LogWebhookServed)
	r.webhooks.announced(client)
}

// Serve implements [AdmissionControl].
func (r *Reviews) Serve(rs []resources.Resource, namespaces []string) {
	r.serve(rs)
	r.webhooks.serve(rs, namespaces)
	if !r.gated {
		r.Indexed()
	}
}

// Unready implements [AdmissionControl].
func (r *Reviews) Unready() error {
	switch {
	case !r.webhooks.registered.Load():
		return errUnregistered
	case !r.begun():
		return errUnindexed
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
