package reviews

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Configuration is the webhook configuration of a family of admission handlers.
type Configuration struct {
	Resource *resources.Resource
	Handlers []*handlers.Handler
	family   handlers.Family
	title    string // name of the family in log lines, as in Python operators

	// Used only by the goroutine that writes the configurations, and after its end.
	state observe.WebhookState
	claim *claimed // last written claim of the operator; nil if there is none
}

// Configurations returns the webhook configurations of handlers, in the order in which the operator writes them.
func Configurations(all []*handlers.Handler) []*Configuration {
	cs := []*Configuration{{family: handlers.Validate, title: "validating"}, {family: handlers.Mutate, title: "mutating"}}
	for _, c := range cs {
		c.Resource = &resources.Resource{
			Group: "admissionregistration.k8s.io", Version: "v1", Plural: c.title + "webhookconfigurations",
			Kind: admission.ConfigurationKind(c.family), Preferred: true,
		}
		c.Handlers = slices.DeleteFunc(slices.Clone(all), func(h *handlers.Handler) bool { return h.Family != c.family })
	}
	return cs
}

// webhooks maintains the webhook configurations in the cluster.
type webhooks struct {
	deps           *core.Deps
	identity       string // identity of the operator in its claims
	configurations []*Configuration
	changed        core.Wakeup

	registered atomic.Bool // the webhooks were registered in the cluster once, or are not managed

	mu               sync.Mutex
	known            admission.Options // options for building the webhooks, as far as they are known
	reachable, found bool              // the client configuration and the resources are known
}

func newWebhooks(d *core.Deps, identity string) *webhooks {
	all, settings := d.Registry.Admission(), &d.Settings.Admission
	return &webhooks{
		deps: d, identity: identity, configurations: Configurations(all), changed: core.NewWakeup(),
		known: admission.Options{
			Suffix: settings.Managed, Names: admission.Names(all), Development: settings.Session != "", Confined: settings.Confined,
		},
	}
}

// options returns the options for building the webhooks, and whether they are complete.
func (w *webhooks) options() (o admission.Options, complete bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known, w.reachable && w.found
}

func (w *webhooks) name() string {
	return admission.ConfigurationName(w.deps.Settings.Admission.Managed, w.deps.Settings.Admission.Session)
}

// webhooksInterval is how often the configurations are written again, because another program may have removed the
// webhooks, and because claims and the marks of development sessions expire.
const webhooksInterval = time.Minute

// webhooksRetries are the delays after failed writes of the configurations; the last one is repeated.
var webhooksRetries = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, webhooksInterval}

// announced records the client configuration with which the API server reaches the operator.
func (w *webhooks) announced(client admission.ClientConfig) {
	w.deps.Logger.Debug("Serving admission reviews at "+client.String(), observe.EventKey, observe.LogWebhookServed)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known.Client, w.reachable = client, true
	w.changed.Raise()
}

// serve sets the known resources and the served namespaces; nil namespaces stand for the whole cluster.
func (w *webhooks) serve(rs []resources.Resource, namespaces []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.found || !reflect.DeepEqual(w.known.Resources, rs) || !reflect.DeepEqual(w.known.Namespaces, namespaces) {
		w.found, w.known.Resources, w.known.Namespaces = true, rs, namespaces
		w.changed.Raise()
	}
}

// run keeps the configurations up to date until the context ends.
func (w *webhooks) run(ctx context.Context) {
	failures := 0
	for {
		var again <-chan time.Time
		options, ok := w.options()
		if ok {
			delay := webhooksInterval
			if err := w.write(ctx, options); err != nil {
				delay = webhooksRetries[min(failures, len(webhooksRetries)-1)]
				failures++
			} else {
				failures = 0
			}
			again = time.After(delay)
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
	for _, c := range w.configurations {
		err := w.put(ctx, c, admission.Build(c.Handlers, o))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		before := c.state.Err
		c.state = observe.WebhookState{State: inspect.WebhookInstalled}
		if err != nil {
			c.state = observe.WebhookState{State: inspect.WebhookFailed, Err: err}
			errs = append(errs, err)
			if before == nil || before.Error() != err.Error() { // each reason is logged once
				advice := "retrying"
				if kube.Classify(err) == kube.Forbidden {
					advice = "allow the operator to create and patch " + c.Resource.Plural
				}
				w.deps.Logger.Error(fmt.Sprintf("Cannot configure the %s webhook %s; %s", c.title, w.name(), advice),
					observe.EventKey, observe.LogWebhookFailed, "error", err)
			}
		}
	}
	if errs == nil && !w.registered.Swap(true) {
		w.warnOfGap()
	}
	return errors.Join(errs...)
}

func (w *webhooks) emit(o admission.Options) {
	states := map[handlers.Family]observe.WebhookState{}
	for _, c := range w.configurations {
		state := c.state
		if o.Suffix == "" {
			state.State = inspect.WebhookUnmanaged
		}
		state.State = cmp.Or(state.State, inspect.WebhookPending)
		states[c.family] = state
	}
	observe.Emit(w.deps.Sink, observe.WebhooksChanged{
		Client: o.Client, Managed: o.Suffix, Session: w.deps.Settings.Admission.Session,
		Webhooks: admission.Build(w.deps.Registry.Admission(), o), States: states,
	})
}
