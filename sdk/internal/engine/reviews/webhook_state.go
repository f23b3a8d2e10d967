package reviews

import (
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ConfigurationResources are the resources of the webhook configurations.
var ConfigurationResources = map[handlers.Family]*resources.Resource{
	handlers.Validate: configurationResource(handlers.Validate, "validatingwebhookconfigurations"),
	handlers.Mutate:   configurationResource(handlers.Mutate, "mutatingwebhookconfigurations"),
}

func configurationResource(family handlers.Family, plural string) *resources.Resource {
	return &resources.Resource{
		Group: "admissionregistration.k8s.io", Version: "v1", Plural: plural, Kind: admission.ConfigurationKind(family), Preferred: true,
	}
}

type admissionFamily struct {
	Family handlers.Family
	title  string
}

// AdmissionFamilies are the families of admission handlers, in the order of their configurations. Log lines contain the
// titles, as in Python operators.
var AdmissionFamilies = []admissionFamily{{handlers.Validate, "validating"}, {handlers.Mutate, "mutating"}}

// webhooks maintains the webhook configurations in the cluster, according to the handlers, the resources and the
// announced client configuration.
type webhooks struct {
	deps     *core.Deps
	identity string              // identity of the operator in its claims
	all      []*handlers.Handler // handlers of both families, in the order of registration
	names    map[string]string
	changed  core.Wakeup

	registered atomic.Bool // the webhooks were registered in the cluster once, or are not managed

	mu         sync.Mutex
	client     *admission.ClientConfig // nil until it is announced
	resources  []resources.Resource
	known      bool // set when the resources are known
	namespaces []string

	// Used only by the goroutine of run.
	states map[handlers.Family]observe.WebhookState
	claims map[handlers.Family]*claimed
}

func newWebhooks(d *core.Deps, identity string) *webhooks {
	all := d.Registry.Admission()
	return &webhooks{
		deps: d, identity: identity, all: all, names: admission.Names(all), changed: core.NewWakeup(),
		states: map[handlers.Family]observe.WebhookState{}, claims: map[handlers.Family]*claimed{},
	}
}

// claimed is the last written claim of the operator on a configuration.
type claimed struct {
	admission.Claim
	leader string // newer operator that decides about the webhooks; empty if this operator does
	alone  bool   // there is no other operator

	// previous is the claim of the operator that decided before this operator, and restored has that operator's webhooks.
	previous admission.Claim
	restored json.RawMessage
}

// options returns the options for building the webhooks, and whether they are complete.
func (w *webhooks) options() (admission.Options, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	settings := &w.deps.Settings.Admission
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

func (w *webhooks) of(family handlers.Family) []*handlers.Handler {
	return slices.DeleteFunc(slices.Clone(w.all), func(h *handlers.Handler) bool { return h.Family != family })
}

func (w *webhooks) name() string {
	return admission.ConfigurationName(w.deps.Settings.Admission.Managed, w.deps.Settings.Admission.Session)
}

// marks returns the marks of a development session's configurations; nil in production.
func (w *webhooks) marks() *admission.Metadata {
	if session := w.deps.Settings.Admission.Session; session != "" {
		return admission.SessionMarks(session, w.deps.Now())
	}
	return nil
}
