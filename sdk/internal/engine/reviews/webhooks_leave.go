package reviews

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

const (
	// withdrawalTimeout limits the removal of the webhooks when the operator exits.
	withdrawalTimeout = 5 * time.Second

	// withdrawalDelay is the time from the removal of the webhooks until the server stops, because API servers notice the
	// removal with a delay.
	withdrawalDelay = 500 * time.Millisecond
)

// withdraw releases the configurations. The last operator removes its webhooks, except the persistent ones, and waits
// until the API server has noticed. In development, withdraw does nothing, because the session removes its
// configurations at its end, and keeps them during a reload.
func (w *webhooks) withdraw(ctx context.Context) {
	options, ok := w.options()
	if !ok || options.Suffix == "" || options.Development {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, withdrawalTimeout)
	defer cancel()
	var changed atomic.Bool
	var leaving sync.WaitGroup
	for _, f := range AdmissionFamilies {
		if w.claims[f.Family] == nil {
			continue
		}
		leaving.Go(func() {
			remaining, err := w.remaining(f.Family, options)
			noticeable := false
			if err == nil {
				noticeable, err = w.leave(ctx, f, remaining)
			}
			if err != nil && kube.Classify(err) != kube.NotFound {
				w.deps.Logger.Error(fmt.Sprintf("Cannot remove the webhooks of the %s webhook %s; requests may be refused until it is deleted", f.title, w.name()),
					observe.EventKey, observe.LogWebhookFailed, "error", err)
			}
			if noticeable && err == nil {
				changed.Store(true)
			}
		})
	}
	leaving.Wait()
	if changed.Load() {
		_ = core.Sleep(ctx, withdrawalDelay) // the end of the context means that the delay was long enough
	}
}

// remaining returns the persistent webhooks; nil if all webhooks are persistent.
func (w *webhooks) remaining(family handlers.Family, o admission.Options) (json.RawMessage, error) {
	hs := w.of(family)
	o.PersistentOnly = true
	webhooks := admission.Build(hs, o)
	if len(webhooks) == len(hs) {
		return nil, nil
	}
	return json.Marshal(webhooks)
}

// leave removes the operator's claim from a configuration. The last operator reduces the webhooks to the remaining ones,
// unless these are nil. It reports whether API servers may still call this operator.
func (w *webhooks) leave(ctx context.Context, f admissionFamily, remaining json.RawMessage) (noticeable bool, err error) {
	for {
		found, err := w.look(ctx, w.deps.Client, f.Family)
		if err != nil {
			return false, err
		}
		others := found.Others(w.identity, w.deps.Now())
		webhooks, heir := w.inherited(w.claims[f.Family], others, remaining)
		switch {
		case heir != "":
			w.deps.Logger.Info(fmt.Sprintf("Leaving the %s webhook %s to another operator: %s", f.title, w.name(), heir),
				observe.EventKey, observe.LogWebhookShared)
		case webhooks != nil:
			w.deps.Logger.Info(fmt.Sprintf("Cleaning up the admission webhook %s.", w.name()),
				observe.EventKey, observe.LogWebhookRemoved, "kind", f.title)
		}
		err = w.send(ctx, w.deps.Client, f.Family, found, found.Leaving(w.identity, webhooks, w.deps.Now()))
		if kube.Classify(err) == kube.Conflict {
			continue // another operator claimed or released the configuration concurrently
		}
		return remaining != nil || heir != "", err
	}
}

// inherited returns the webhooks to leave in the configuration, and the operator that takes them over; nil keeps the
// current webhooks. No remaining webhook may call this operator. If the other operators' webhooks are unknown, these
// operators write them within a minute.
func (w *webhooks) inherited(own *claimed, others []admission.Claim, remaining json.RawMessage) (webhooks json.RawMessage, heir string) {
	if len(others) == 0 {
		return remaining, ""
	}
	newest := others[0]
	switch same := func(c admission.Claim) bool { return c.Content == own.Content }; {
	case newest.After(&own.Claim):
		return nil, newest.Operator
	case slices.ContainsFunc(others, same):
		return nil, others[slices.IndexFunc(others, same)].Operator
	case newest.Operator == own.previous.Operator && newest.Content == own.previous.Content:
		return own.restored, newest.Operator
	}
	return remaining, ""
}
