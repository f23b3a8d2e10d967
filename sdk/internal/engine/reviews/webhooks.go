package reviews

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// webhooksInterval is how often the configurations are written again, because another program may have removed the
// webhooks, and because claims and the marks of development sessions expire.
const webhooksInterval = time.Minute

// webhooksRetries are the delays after failed writes of the configurations; the last one is repeated.
var webhooksRetries = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, webhooksInterval}

// announced records the client configuration with which the API server reaches the operator.
func (w *webhooks) announced(client admission.ClientConfig) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client = &client
	w.changed.Raise()
}

// serve sets the known resources and the served namespaces; no namespaces stand for the whole cluster.
func (w *webhooks) serve(rs []resources.Resource, namespaces []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known && reflect.DeepEqual(w.resources, rs) && reflect.DeepEqual(w.namespaces, namespaces) {
		return
	}
	w.known, w.resources, w.namespaces = true, rs, namespaces
	w.changed.Raise()
}

// run keeps the configurations up to date until the context ends.
func (w *webhooks) run(ctx context.Context) {
	failures := 0
	for {
		var again <-chan time.Time
		options, ok := w.options()
		if ok {
			if err := w.write(ctx, options); err != nil {
				again = time.After(webhooksRetries[min(failures, len(webhooksRetries)-1)])
				failures++
			} else {
				failures, again = 0, time.After(webhooksInterval)
			}
		}
		w.emit(options)
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		case <-again:
		}
	}
}

func (w *webhooks) write(ctx context.Context, o admission.Options) error {
	if o.Suffix == "" {
		w.registered.Store(true)
		return nil
	}
	var errs []error
	for _, f := range AdmissionFamilies {
		err := w.put(ctx, f, admission.Build(w.of(f.Family), o))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.failed(f.Family, f.title, err)
			errs = append(errs, err)
			continue
		}
		w.states[f.Family] = observe.WebhookState{State: inspect.WebhookInstalled}
	}
	if errs == nil && !w.registered.Swap(true) {
		w.warnOfGap()
	}
	return errors.Join(errs...)
}

// failed logs why a configuration could not be written, once for each reason.
func (w *webhooks) failed(family handlers.Family, title string, err error) {
	before := w.states[family]
	w.states[family] = observe.WebhookState{State: inspect.WebhookFailed, Err: err}
	if before.Err != nil && before.Err.Error() == err.Error() {
		return
	}
	advice := "retrying"
	if kube.Classify(err) == kube.Forbidden {
		advice = "allow the operator to create and patch " + ConfigurationResources[family].Plural
	}
	w.deps.Logger.Error(fmt.Sprintf("Cannot configure the %s webhook %s; %s", title, w.name(), advice),
		observe.EventKey, observe.LogWebhookFailed, "error", err)
}

func (w *webhooks) emit(o admission.Options) {
	states := map[handlers.Family]observe.WebhookState{}
	for _, f := range AdmissionFamilies {
		state := w.states[f.Family]
		switch {
		case o.Suffix == "":
			state.State = inspect.WebhookUnmanaged
		case state.State == "":
			state.State = inspect.WebhookPending
		}
		states[f.Family] = state
	}
	observe.Emit(w.deps.Sink, observe.WebhooksChanged{
		Client: o.Client, Managed: o.Suffix, Session: w.deps.Settings.Admission.Session,
		Webhooks: admission.Build(w.all, o), States: states,
	})
}
