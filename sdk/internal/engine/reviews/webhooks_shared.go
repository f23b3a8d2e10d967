package reviews

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// maxLooks limits the attempts to claim a configuration that other operators change concurrently.
const maxLooks = 5

// put writes the webhooks into a configuration, unless a newer operator shares it. It only needs permissions to patch
// and to create.
func (w *webhooks) put(ctx context.Context, f admissionFamily, webhooks []admission.Webhook) error {
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
		found, err = w.look(ctx, client, f.Family)
		class := kube.Classify(err)
		switch {
		case len(webhooks) == 0 && (class == kube.NotFound || class == kube.Forbidden):
			delete(w.claims, f.Family) // there are no webhooks of the family to remove, or no permissions to have written them
			return nil
		case class == kube.NotFound:
			found = new(admission.Found) // the configuration must be created
		case err != nil:
			return err
		}
		if err = w.claim(ctx, client, f, found, text); kube.Classify(err) != kube.Conflict {
			break
		}
	}
	return err
}

// look reads a configuration with an empty patch, which needs no other permission than to patch.
func (w *webhooks) look(ctx context.Context, client *kube.Client, family handlers.Family) (*admission.Found, error) {
	found, err := client.Patch(ctx, ConfigurationResources[family], "", w.name(), "", patch.MergeType, []byte("{}"))
	if err != nil {
		return nil, err
	}
	return admission.ReadFound(found)
}

// claim writes the operator's claim and its webhooks into a configuration. If a newer operator shares the configuration,
// it only writes the claim. A configuration of a development session is not shared, and has no claims.
func (w *webhooks) claim(ctx context.Context, client *kube.Client, f admissionFamily, found *admission.Found, webhooks json.RawMessage) error {
	now, before := w.deps.Now(), w.claims[f.Family]
	others := found.Others(w.identity, now)
	own := &claimed{alone: len(others) == 0, Claim: admission.Claim{
		Operator: w.identity, Order: w.order(before, found, others, now), Content: admission.Digest(webhooks), Expires: now.Add(admission.ClaimExpires).UTC().Truncate(time.Second),
	}}
	switch {
	case before != nil:
		own.previous, own.restored = before.previous, before.restored
	case !own.alone:
		own.previous, own.restored = others[0], found.Webhooks
	}
	if !own.alone && others[0].After(&own.Claim) {
		own.leader, webhooks = others[0].Operator, nil
	}
	mark := &own.Claim
	if w.deps.Settings.Admission.Session != "" {
		mark = nil
	}
	change, err := found.Claiming(mark, w.marks(), webhooks, now)
	if err != nil {
		return err
	}
	if err := w.send(ctx, client, f.Family, found, change); err != nil {
		return err
	}
	w.noteClaim(f, own)
	return nil
}

// order returns the order of the operator's claim. A claim keeps its order, also after a restart with the same identity.
// A new operator gets the highest order.
func (w *webhooks) order(before *claimed, found *admission.Found, others []admission.Claim, now time.Time) int {
	if before != nil {
		return before.Order
	}
	if own, ok := found.Claim(w.identity, now); ok {
		return own.Order
	}
	if w.registered.Load() {
		return 0 // newer code added a configuration for which this operator has no handlers
	}
	if len(others) > 0 {
		return others[0].Order + 1
	}
	return 1
}

// noteClaim stores a claim, and logs the effect on the webhooks.
func (w *webhooks) noteClaim(f admissionFamily, own *claimed) {
	before := w.claims[f.Family]
	w.claims[f.Family] = own
	count := len(w.of(f.Family))
	switch {
	case count == 0:
	case own.leader != "":
		if before == nil || before.leader != own.leader {
			w.deps.Logger.Info(fmt.Sprintf("Leaving the %s webhook %s to a newer operator: %s", f.title, w.name(), own.leader),
				observe.EventKey, observe.LogWebhookShared)
		}
	case before == nil || before.leader != "" || before.Content != own.Content:
		w.deps.Logger.Info(fmt.Sprintf("Reconfiguring the %s webhook %s.", f.title, w.name()),
			observe.EventKey, observe.LogWebhookInstalled, "webhooks", count)
	}
}

// send patches a configuration, or creates it if it does not exist.
func (w *webhooks) send(ctx context.Context, client *kube.Client, family handlers.Family, found *admission.Found, change admission.Configuration) error {
	create := found.Version == ""
	if create {
		change = admission.Creation(family, w.name(), change)
	}
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	if create {
		_, err = client.Post(ctx, ConfigurationResources[family], "", body)
	} else {
		_, err = client.Patch(ctx, ConfigurationResources[family], "", w.name(), "", patch.MergeType, body)
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
	for _, h := range w.all {
		if claim := w.claims[h.Family]; !h.Admission.Persistent && !h.Admission.IgnoreFailures && claim != nil && claim.alone {
			ids = append(ids, h.ID)
		}
	}
	if len(ids) > 0 {
		w.deps.Logger.Warn("While the operator restarts, objects are admitted without asking "+strings.Join(ids, ", ")+
			", since it removes their webhooks at its exit; kopf.Webhook{KeepOnExit: true} keeps them", observe.EventKey, observe.LogWebhookGap)
	}
}
