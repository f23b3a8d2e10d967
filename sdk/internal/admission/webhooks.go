package admission

import (
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Webhook is an entry of a configuration of webhooks, for one handler.
type Webhook struct {
	Name              string         `json:"name"`
	SideEffects       string         `json:"sideEffects"`
	FailurePolicy     string         `json:"failurePolicy"`
	MatchPolicy       string         `json:"matchPolicy"`
	Rules             []Rule         `json:"rules"`
	ObjectSelector    *LabelSelector `json:"objectSelector"`
	NamespaceSelector *LabelSelector `json:"namespaceSelector,omitempty"`
	ClientConfig      ClientConfig   `json:"clientConfig"`
	TimeoutSeconds    int            `json:"timeoutSeconds"`
	Versions          []string       `json:"admissionReviewVersions"`

	Handler *handlers.Handler `json:"-"`
}

// Rule is which requests are sent to a webhook.
type Rule struct {
	Groups     []string `json:"apiGroups"`
	Versions   []string `json:"apiVersions"`
	Resources  []string `json:"resources"`
	Operations []string `json:"operations"`
	Scope      string   `json:"scope"`
}

// LabelSelector is the conditions on labels, all of which must be met.
type LabelSelector struct {
	MatchExpressions []LabelRequirement `json:"matchExpressions"`
}

// LabelRequirement is a condition on one label.
type LabelRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // "In", "NotIn", "Exists" or "DoesNotExist"
	Values   []string `json:"values,omitempty"`
}

// The failure policies.
const (
	PolicyFail   = "Fail"
	PolicyIgnore = "Ignore"
)

// Timeouts of webhooks, in seconds.
const (
	timeout            = 30 // the longest that Kubernetes allows
	developmentTimeout = 10
)

// Options say which webhooks to build.
type Options struct {
	// Resources are those that the cluster has.
	Resources []resources.Resource
	Client    ClientConfig

	// Suffix ends the names of the webhooks; may be empty. Names are the names of the webhooks of all admission
	// handlers: see [Names].
	Suffix string
	Names  map[string]string

	PersistentOnly bool

	// Confined limits the webhooks to the Namespaces.
	Confined bool

	// Development makes webhooks that block no requests if their operator vanishes: failures are ignored after a
	// short time, despite the handlers' settings. Namespaces are the names of the served namespaces; nil means all
	// except the system namespaces.
	Development bool
	Namespaces  []string
}

// Build returns the webhooks of handlers, in their order.
func Build(hs []*handlers.Handler, o Options) []Webhook {
	webhooks := make([]Webhook, 0, len(hs))
	for _, h := range hs {
		if o.PersistentOnly && !h.Admission.Persistent {
			continue
		}
		webhooks = append(webhooks, o.build(h))
	}
	return webhooks
}

func (o *Options) build(h *handlers.Handler) Webhook {
	name := o.Names[h.ID]
	w := Webhook{
		Name: name, SideEffects: "None", FailurePolicy: PolicyFail, MatchPolicy: "Equivalent",
		Rules: o.rules(h), ObjectSelector: labelSelector(h.Labels), ClientConfig: o.Client.For(h.ID, name),
		TimeoutSeconds: timeout, Versions: Versions, Handler: h,
	}
	if o.Suffix != "" {
		w.Name += "." + o.Suffix
	}
	if h.Admission.SideEffects {
		w.SideEffects = "NoneOnDryRun"
	}
	if h.Admission.IgnoreFailures {
		w.FailurePolicy = PolicyIgnore
	}
	if o.Development {
		w.FailurePolicy, w.TimeoutSeconds, w.NamespaceSelector = PolicyIgnore, developmentTimeout, o.namespaceSelector()
	}
	if o.Confined && o.Namespaces != nil {
		w.NamespaceSelector = o.namespaceSelector()
	}
	return w
}

// rules returns a rule for each of the handler's resources.
func (o *Options) rules(h *handlers.Handler) []Rule {
	rules := []Rule{}
	operations := h.Admission.Operations
	if len(operations) == 0 {
		operations = []string{"*"}
	}
	for i := range o.Resources {
		res := &o.Resources[i]
		if !h.Selector.Match(res) {
			continue
		}
		name := res.Plural
		if h.Admission.Subresource != "" {
			name += "/" + h.Admission.Subresource
		}
		rules = append(rules, Rule{
			Groups: []string{res.Group}, Versions: []string{res.Version}, Resources: []string{name}, Operations: operations, Scope: "*",
		})
	}
	return rules
}

// labelSelector returns the conditions that the API server can check; nil if there are none.
func labelSelector(labels map[string]handlers.Criterion) *LabelSelector {
	var all []LabelRequirement
	for _, name := range object.SortedKeys(labels) {
		criterion := labels[name]
		operator, value, ok := criterion.LabelOperator()
		// Kubernetes refuses names and values that no label can have.
		if !ok || len(validation.IsQualifiedName(name)) > 0 || len(validation.IsValidLabelValue(value)) > 0 {
			continue
		}
		requirement := LabelRequirement{Key: name, Operator: operator}
		if operator == "In" {
			requirement.Values = []string{value}
		}
		all = append(all, requirement)
	}
	if all == nil {
		return nil
	}
	return &LabelSelector{MatchExpressions: all}
}

// namespaceName is the label that Kubernetes gives each namespace.
const namespaceName = "kubernetes.io/metadata.name"

// systemNamespaces are those without which the cluster does not work.
var systemNamespaces = []string{"kube-node-lease", "kube-public", "kube-system"}

func (o *Options) namespaceSelector() *LabelSelector {
	requirement := LabelRequirement{Key: namespaceName, Operator: "NotIn", Values: systemNamespaces}
	switch {
	case len(o.Namespaces) > 0:
		requirement.Operator, requirement.Values = "In", o.Namespaces
	case o.Namespaces != nil:
		requirement.Operator, requirement.Values = "DoesNotExist", nil // no namespace
	}
	return &LabelSelector{MatchExpressions: []LabelRequirement{requirement}}
}
