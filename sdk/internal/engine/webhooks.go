package engine

import (
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
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// webhooksInterval is how often the configurations are written again: another program may have removed the webhooks, and
// claims and the marks of development sessions expire.
const webhooksInterval = time.Minute

// webhooksRetries are the delays after failures to write the configurations; the last one is repeated.
var webhooksRetries = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, webhooksInterval}

// configurationResources are the resources of the configurations.
var configurationResources = map[handlers.Family]*resources.Resource{
	handlers.Validate: configurationResource(handlers.Validate, "validatingwebhookconfigurations"),
	handlers.Mutate:   configurationResource(handlers.Mutate, "mutatingwebhookconfigurations"),
}

func configurationResource(family handlers.Family, plural string) *resources.Resource {
	return &resources.Resource{
		Group: "admissionregistration.k8s.io", Version: "v1", Plural: plural, Kind: admission.ConfigurationKind(family), Preferred: true,
	}
}

type admissionFamily struct {
	family handlers.Family
	title  string
}

// admissionFamilies are the families, in the order in which they are managed. Their names in log lines are those of Python operators.
var admissionFamilies = []admissionFamily{{handlers.Validate, "validating"}, {handlers.Mutate, "mutating"}}

// webhooks keep the configurations of webhooks in the cluster as the handlers, the resources and the way in
// require.
type webhooks struct {
	deps     *deps
	identity string              // in claims
	all      []*handlers.Handler // of both families, in the order of registration
	names    map[string]string
	changed  wakeup

	registered atomic.Bool // the cluster has had the webhooks, if they are managed

	mu         sync.Mutex
	client     *admission.ClientConfig // nil until it is announced
	resources  []resources.Resource
	known      bool // the resources are
	namespaces []string

	// For the goroutine of run only.
	states map[handlers.Family]observe.WebhookState
	claims map[handlers.Family]*claimed
}

func newWebhooks(d *deps, identity string) *webhooks {
	all := d.registry.Admission()
	return &webhooks{
		deps: d, identity: identity, all: all, names: admission.Names(all), changed: newWakeup(),
		states: map[handlers.Family]observe.WebhookState{}, claims: map[handlers.Family]*claimed{},
	}
}

// announced takes over how the API server reaches the operator.
func (w *webhooks) announced(client admission.ClientConfig) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client = &client
	w.changed.raise()
}

// serve sets the resources that the cluster has, and the namespaces that the operator serves; none for all.
func (w *webhooks) serve(rs []resources.Resource, namespaces []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known && reflect.DeepEqual(w.resources, rs) && reflect.DeepEqual(w.namespaces, namespaces) {
		return
	}
	w.known, w.resources, w.namespaces = true, rs, namespaces
	w.changed.raise()
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
		w.tell(options)
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		case <-again:
		}
	}
}

// options returns how to build the webhooks, and whether all that is required for it is known.
func (w *webhooks) options() (admission.Options, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	settings := &w.deps.settings.Admission
	o := admission.Options{
		Resources: w.resources, Suffix: settings.Managed, Names: w.names, Development: settings.Session != "", Namespaces: w.namespaces,
		Confined: settings.Confined,
	}
	if w.client == nil {
		return o, false
	}
	o.Client = *w.client
	return o, w.known
}

// of returns the handlers of a family.
func (w *webhooks) of(family handlers.Family) []*handlers.Handler {
	return slices.DeleteFunc(slices.Clone(w.all), func(h *handlers.Handler) bool { return h.Family != family })
}

// write writes the configurations.
func (w *webhooks) write(ctx context.Context, o admission.Options) error {
	if o.Suffix == "" {
		w.registered.Store(true)
		return nil
	}
	var errs []error
	for _, f := range admissionFamilies {
		err := w.put(ctx, f, admission.Build(w.of(f.family), o))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.failed(f.family, f.title, err)
			errs = append(errs, err)
			continue
		}
		w.states[f.family] = observe.WebhookState{State: inspect.WebhookInstalled}
	}
	if errs == nil && !w.registered.Swap(true) {
		w.warnOfGap()
	}
	return errors.Join(errs...)
}

// name returns the name of the configurations.
func (w *webhooks) name() string {
	return admission.ConfigurationName(w.deps.settings.Admission.Managed, w.deps.settings.Admission.Session)
}

// marks returns the marks of the configurations in development; nil in production.
func (w *webhooks) marks() *admission.Metadata {
	if session := w.deps.settings.Admission.Session; session != "" {
		return admission.SessionMarks(session, w.deps.now())
	}
	return nil
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
		advice = "allow the operator to create and patch " + configurationResources[family].Plural
	}
	w.deps.logger.Error(fmt.Sprintf("Cannot configure the %s webhook %s; %s", title, w.name(), advice),
		observe.EventKey, observe.LogWebhookFailed, "error", err)
}

// tell tells the sink which webhooks there are.
func (w *webhooks) tell(o admission.Options) {
	states := map[handlers.Family]observe.WebhookState{}
	for _, f := range admissionFamilies {
		state := w.states[f.family]
		switch {
		case o.Suffix == "":
			state.State = inspect.WebhookUnmanaged
		case state.State == "":
			state.State = inspect.WebhookPending
		}
		states[f.family] = state
	}
	observe.Tell(w.deps.sink, observe.WebhooksChanged{
		Client: o.Client, Managed: o.Suffix, Session: w.deps.settings.Admission.Session,
		Webhooks: admission.Build(w.all, o), States: states,
	})
}
