package reviews

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
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

// maxLooks limits the attempts to claim a configuration that other operators change concurrently.
const maxLooks = 5

// put writes the webhooks into a configuration, unless a newer operator shares it. It only needs permissions to patch
// and to create.
func (w *webhooks) put(ctx context.Context, c *Configuration, webhooks []admission.Webhook) error {
	client := w.deps.Client
	if len(webhooks) == 0 {
		client = client.WithoutRetries() // the client would repeat forbidden requests
	}
	text, err := json.Marshal(webhooks)
	if err != nil {
		return err
	}
	for range maxLooks {
		var found *admission.Found
		found, err = w.look(ctx, client, c)
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
		if err = w.writeClaim(ctx, client, c, found, text); kube.Classify(err) != kube.Conflict {
			break
		}
	}
	return err
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
		Operator: w.identity, Order: w.order(c.claim, found, others, now), Content: admission.Digest(webhooks), Expires: now.Add(admission.ClaimExpires).UTC().Truncate(time.Second),
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

// order returns the order of the operator's claim. A claim keeps its order, also after a restart with the same identity.
// A new operator gets the highest order.
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
	case len(c.Handlers) == 0:
	case own.leader != "":
		if before == nil || before.leader != own.leader {
			w.deps.Logger.Info(fmt.Sprintf("Leaving the %s webhook %s to a newer operator: %s", c.title, w.name(), own.leader),
				observe.EventKey, observe.LogWebhookShared)
		}
	case before == nil || before.leader != "" || before.Content != own.Content:
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
