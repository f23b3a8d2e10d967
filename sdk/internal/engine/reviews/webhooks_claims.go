package reviews

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// claimed is the last written claim of the operator on a configuration.
type claimed struct {
	admission.Claim
	leader string // newer operator that decides about the webhooks; empty if this operator does
	alone  bool   // there is no other operator

	// previous is the claim of the operator that decided before this operator, and restored has that operator's webhooks.
	previous admission.Claim
	restored json.RawMessage
}

// put writes the webhooks into a configuration, unless a newer operator shares it. It needs permissions to patch and to create.
func (w *webhooks) put(ctx context.Context, c *Configuration, webhooks []admission.Webhook) error {
	client := w.deps.Client
	if len(webhooks) == 0 {
		client = client.WithoutRetries() // the client would repeat forbidden requests
	}
	text, err := json.Marshal(webhooks)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		found, err := w.look(ctx, client, c)
		class := kube.Classify(err)
		switch {
		case len(webhooks) == 0 && (class == kube.NotFound || class == kube.Forbidden):
			c.claim = nil // there are no webhooks of the family to remove, or no permissions to have written them
			return nil
		case class == kube.NotFound:
			found = new(admission.Found) // the configuration must be created
		case err != nil:
			return err
		}
		err = w.writeClaim(ctx, client, c, found, text)
		if kube.Classify(err) != kube.Conflict || attempt == 5 { // otherwise, another operator changed the configuration concurrently
			return err
		}
	}
}

// look reads a configuration with an empty patch, which needs no other permission than to patch.
func (w *webhooks) look(ctx context.Context, client *kube.Client, c *Configuration) (*admission.Found, error) {
	found, err := client.Patch(ctx, c.Resource, "", w.name(), "", patch.MergeType, []byte("{}"))
	if err != nil {
		return nil, err
	}
	return admission.ReadFound(found)
}

// writeClaim writes the operator's claim and its webhooks into a configuration. If a newer operator shares the configuration,
// it only writes the claim. A configuration of a development session is not shared, and has no claims.
func (w *webhooks) writeClaim(ctx context.Context, client *kube.Client, c *Configuration, found *admission.Found, webhooks json.RawMessage) error {
	now := w.deps.Now()
	others := found.Others(w.identity, now)
	own := &claimed{alone: len(others) == 0, Claim: admission.Claim{
		Operator: w.identity, Order: w.order(c.claim, found, others, now), Content: admission.Digest(webhooks),
		Expires: now.Add(admission.ClaimExpires).UTC().Truncate(time.Second),
	}}
	switch {
	case c.claim != nil:
		own.previous, own.restored = c.claim.previous, c.claim.restored
	case !own.alone:
		own.previous, own.restored = others[0], found.Webhooks
	}
	if !own.alone && others[0].After(&own.Claim) {
		own.leader, webhooks = others[0].Operator, nil
	}
	mark, marks := &own.Claim, (*admission.Metadata)(nil)
	if session := w.deps.Settings.Admission.Session; session != "" {
		mark, marks = nil, admission.SessionMarks(session, now)
	}
	change, err := found.Claiming(mark, marks, webhooks, now)
	if err == nil {
		err = w.send(ctx, client, c, found, change)
	}
	if err == nil {
		w.logClaim(c, own)
		c.claim = own
	}
	return err
}

// order returns the order of the claim, which is the same after a restart. A new operator gets the highest order.
func (w *webhooks) order(before *claimed, found *admission.Found, others []admission.Claim, now time.Time) int {
	own, claimed := found.Claim(w.identity, now)
	switch {
	case before != nil:
		return before.Order
	case claimed:
		return own.Order
	case w.registered.Load():
		return 0 // newer code added a configuration for which this operator has no handlers
	case len(others) > 0:
		return others[0].Order + 1
	}
	return 1
}

// logClaim logs the effect of a new claim on the webhooks.
func (w *webhooks) logClaim(c *Configuration, own *claimed) {
	before := c.claim
	switch {
	case len(c.Handlers) == 0 || before != nil && before.leader == own.leader && (own.leader != "" || before.Content == own.Content):
	case own.leader != "":
		w.deps.Logger.Info(fmt.Sprintf("Leaving the %s webhook %s to a newer operator: %s", c.title, w.name(), own.leader),
			observe.EventKey, observe.LogWebhookShared)
	default:
		w.deps.Logger.Info(fmt.Sprintf("Reconfiguring the %s webhook %s.", c.title, w.name()),
			observe.EventKey, observe.LogWebhookInstalled, "webhooks", len(c.Handlers))
	}
}

// send patches a configuration, or creates it if it does not exist.
func (w *webhooks) send(ctx context.Context, client *kube.Client, c *Configuration, found *admission.Found, change admission.Configuration) error {
	create := found.Version == ""
	if create {
		change = admission.Creation(c.family, w.name(), change)
	}
	body, err := json.Marshal(change)
	switch {
	case err != nil:
	case create:
		_, err = client.Post(ctx, c.Resource, "", body)
	default:
		_, err = client.Patch(ctx, c.Resource, "", w.name(), "", patch.MergeType, body)
	}
	return err
}

// warnOfGap warns of handlers without a replacement while the operator restarts.
func (w *webhooks) warnOfGap() {
	settings := &w.deps.Settings.Admission
	if settings.Managed == "" || settings.Session != "" || w.deps.Running != nil { // other replicas of the operator still need the webhooks
		return
	}
	var ids []string
	for _, h := range w.deps.Registry.Admission() {
		claimed := func(c *Configuration) bool { return c.family == h.Family && c.claim != nil && c.claim.alone }
		if !h.Admission.Persistent && !h.Admission.IgnoreFailures && slices.ContainsFunc(w.configurations, claimed) {
			ids = append(ids, h.ID)
		}
	}
	if len(ids) > 0 {
		w.deps.Logger.Warn("While the operator restarts, objects are admitted without asking "+strings.Join(ids, ", ")+
			", since it removes their webhooks at its exit; kopf.Webhook{KeepOnExit: true} keeps them", observe.EventKey, observe.LogWebhookGap)
	}
}

const (
	withdrawalTimeout = 5 * time.Second        // limits the removal of the webhooks when the operator exits
	withdrawalDelay   = 500 * time.Millisecond // time until the server stops, because API servers notice the removal with a delay
)

// withdraw releases the configurations. The last operator removes its webhooks, except the persistent ones, and waits until the API
// server has noticed. In development, the session removes its configurations at its end, and keeps them during a reload.
func (w *webhooks) withdraw(ctx context.Context) {
	options, ok := w.options()
	if !ok || options.Suffix == "" || options.Development {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, withdrawalTimeout)
	defer cancel()
	var noticeable atomic.Bool
	var leaving sync.WaitGroup
	for _, c := range w.configurations {
		if c.claim == nil {
			continue
		}
		leaving.Go(func() {
			left, err := w.leave(ctx, c, options)
			if err != nil && kube.Classify(err) != kube.NotFound {
				w.deps.Logger.Error(fmt.Sprintf("Cannot remove the webhooks of the %s webhook %s; requests may be refused until it is deleted",
					c.title, w.name()), observe.EventKey, observe.LogWebhookFailed, "error", err)
			}
			if left && err == nil {
				noticeable.Store(true)
			}
		})
	}
	leaving.Wait()
	if noticeable.Load() {
		_ = core.Sleep(ctx, withdrawalDelay) // the end of the context means that the delay was long enough
	}
}

// leave removes the operator's claim from a configuration. The last operator reduces the webhooks to the persistent ones,
// unless all are persistent. It reports whether API servers may still call this operator.
func (w *webhooks) leave(ctx context.Context, c *Configuration, o admission.Options) (noticeable bool, err error) {
	var remaining json.RawMessage // nil if all webhooks are persistent
	o.PersistentOnly = true
	if persistent := admission.Build(c.Handlers, o); len(persistent) < len(c.Handlers) {
		if remaining, err = json.Marshal(persistent); err != nil {
			return false, err
		}
	}
	for {
		found, err := w.look(ctx, w.deps.Client, c)
		if err != nil {
			return false, err
		}
		webhooks, heir := inherited(c.claim, found.Others(w.identity, w.deps.Now()), remaining)
		switch {
		case heir != "":
			w.deps.Logger.Info(fmt.Sprintf("Leaving the %s webhook %s to another operator: %s", c.title, w.name(), heir),
				observe.EventKey, observe.LogWebhookShared)
		case webhooks != nil:
			w.deps.Logger.Info(fmt.Sprintf("Cleaning up the admission webhook %s.", w.name()),
				observe.EventKey, observe.LogWebhookRemoved, "kind", c.title)
		}
		err = w.send(ctx, w.deps.Client, c, found, found.Leaving(w.identity, webhooks, w.deps.Now()))
		if kube.Classify(err) != kube.Conflict { // otherwise, another operator claimed or released the configuration concurrently
			return remaining != nil || heir != "", err
		}
	}
}

// inherited returns the webhooks to leave in the configuration, none of which may call this operator, and the operator that takes
// them over; nil keeps the current webhooks. Other operators write unknown webhooks within a minute.
func inherited(own *claimed, others []admission.Claim, remaining json.RawMessage) (webhooks json.RawMessage, heir string) {
	if len(others) == 0 {
		return remaining, ""
	}
	newest, same := others[0], slices.IndexFunc(others, func(c admission.Claim) bool { return c.Content == own.Content })
	switch {
	case newest.After(&own.Claim):
		return nil, newest.Operator
	case same >= 0:
		return nil, others[same].Operator
	case newest.Operator == own.previous.Operator && newest.Content == own.previous.Content:
		return own.restored, newest.Operator
	}
	return remaining, ""
}
