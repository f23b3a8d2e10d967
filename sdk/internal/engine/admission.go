package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ErrNoWayIn is in the error of an operator that has admission handlers, and no server for their reviews.
var ErrNoWayIn = errors.New("the cluster has no way to reach the admission handlers")

// errServerEnded is the error of a server that stops before the operator.
var errServerEnded = errors.New("the webhook server has stopped by itself")

// The reasons why an operator with admission handlers is not ready.
var (
	errUnconnected  = errors.New("the operator is not connected to the cluster yet")
	errUnregistered = errors.New("the webhooks are not registered in the cluster yet")
	errUnindexed    = errors.New("the indices are not complete yet; admission reviews wait for them")
)

// checkWayIn returns an error if nothing brings reviews to the admission handlers.
func checkWayIn(registry *handlers.Registry, settings *Settings) error {
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

// admissionControl is the operator's part in admission: it answers reviews, and tells the API server where to
// send them. It is nil if there are no admission handlers.
type admissionControl struct {
	deps     *deps
	reviews  *reviews
	webhooks *webhooks
	gated    bool // reviews wait for the indices

	stopServing, stopManaging context.CancelFunc
	serving, managing         sync.WaitGroup
}

func newAdmissionControl(ctx context.Context, d *deps, m *memories, i *invoker, identity string, inspected bool) *admissionControl {
	if len(d.registry.Admission()) == 0 {
		return nil
	}
	return &admissionControl{
		deps: d, reviews: newReviews(ctx, d, m, i, inspected), webhooks: newWebhooks(d, identity),
		gated: slices.ContainsFunc(d.registry.All(), func(h *handlers.Handler) bool { return h.Family == handlers.Index }),
	}
}

// start starts the server. If it ends before [admissionControl.stop], failed is called.
func (a *admissionControl) start(ctx context.Context, failed func(error)) {
	if a == nil {
		return
	}
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	managing, stopManaging := context.WithCancel(context.WithoutCancel(ctx))
	a.stopServing, a.stopManaging = stopServing, stopManaging
	a.serving.Go(func() {
		err := a.deps.settings.Admission.Serve(serving, a.deps.logger, a.reviews, a.announced)
		if serving.Err() != nil && err == nil {
			return
		}
		if err == nil {
			err = errServerEnded
		}
		failed(err)
	})
	a.managing.Go(func() { a.webhooks.run(managing) })
	if !a.reviews.user.ask(ctx) { // before there are any changes of its own
		a.managing.Go(func() { a.reviews.user.keepAsking(managing) })
	}
}

// announced takes over where the API server finds the server.
func (a *admissionControl) announced(client admission.ClientConfig) {
	prefix := client.Path()
	a.reviews.prefix.Store(&prefix)
	a.deps.logger.Debug("Serving admission reviews at "+client.String(), observe.EventKey, observe.LogWebhookServed)
	a.webhooks.announced(client)
}

// serve sets the resources that the cluster has, and the namespaces that the operator serves; none for all.
func (a *admissionControl) serve(rs []resources.Resource, namespaces []string) {
	if a == nil {
		return
	}
	a.reviews.serve(rs)
	a.webhooks.serve(rs, namespaces)
	if !a.gated {
		a.reviews.begin()
	}
}

// unready returns why no reviews are answered yet.
func (a *admissionControl) unready() error {
	switch {
	case a == nil:
		return errUnconnected
	case !a.webhooks.registered.Load():
		return errUnregistered
	case !a.reviews.begun():
		return errUnindexed
	}
	return nil
}

// indexed lets reviews be answered that waited for the indices.
func (a *admissionControl) indexed() {
	if a != nil {
		a.reviews.begin()
	}
}

// withdraw stops managing the webhooks, and removes those that are not persistent.
func (a *admissionControl) withdraw(ctx context.Context) {
	if a == nil {
		return
	}
	a.stopManaging()
	a.managing.Wait()
	a.webhooks.withdraw(ctx)
}

// stop stops the server, after the reviews that it is answering.
func (a *admissionControl) stop() {
	if a == nil {
		return
	}
	a.stopServing()
	a.serving.Wait()
}
