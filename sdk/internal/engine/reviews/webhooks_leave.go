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
	var noticeable atomic.Bool
	var leaving sync.WaitGroup
	for _, c := range w.configurations {
		if c.claim == nil {
			continue
		}
		leaving.Go(func() {
			left, err := w.leave(ctx, c, options)
			if err != nil && kube.Classify(err) != kube.NotFound {
				w.deps.Logger.Error(fmt.Sprintf("Cannot remove the webhooks of the %s webhook %s; requests may be refused until it is deleted", c.title, w.name()),
					observe.EventKey, observe.LogWebhookFailed, "error", err)
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

// inherited returns the webhooks to leave in the configuration, and the operator that takes them over; nil keeps the
// current webhooks. No remaining webhook may call this operator. If the other operators' webhooks are unknown, these
// operators write them within a minute.
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
