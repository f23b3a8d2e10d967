package manifests

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Options describe a deployment.
type Options struct {
	// Name is the name of all objects. It must be a DNS label, and the only one of the name in the cluster.
	Name string

	// Namespace is where the operator runs. Defaults to the namespace that it serves if that is one, or
	// else to "default".
	Namespace string

	// Image is the operator's container image. Without it, there is no Deployment and no Service.
	Image string

	// Replicas is the number of pods. More than one need leases. Defaults to 2 with leases, and to 1 without.
	Replicas int

	// Served are the namespaces that the operator serves, as names or patterns. Defaults to the whole
	// cluster.
	Served []string

	// Args are additional flags of the operator, without the flags for namespaces, log, health and webhooks.
	Args []string

	// Certificate is the name of the Secret with the certificate of the webhooks (tls.crt), its key (tls.key) and
	// its authorities (ca.crt). Defaults to none: the operator makes a certificate, which only one replica can.
	Certificate string

	// Operators are the descriptions of the program's operators.
	Operators []inspect.Description
}

// Manifests are the manifests of an operator.
type Manifests struct {
	options  Options
	health   health
	leases   bool   // replicas share leases
	peering  bool   // the operator takes part in peering
	webhooks string // the name of the webhook configurations; empty if there are none
	removal  *removal

	cluster []Rule      // rules of the ClusterRole
	served  []Rule      // rules of the Role in each of the served namespaces
	own     []Rule      // rules of the Role in the operator's namespace
	named   []namespace // other namespaces
}

// namespace is a namespace with a Role of its own.
type namespace struct {
	name  string
	rules []Rule
}

// New returns the manifests for the options. It fails if a selector of an operator cannot be resolved: the
// permissions for its resource would be missing.
func New(o Options) (*Manifests, error) {
	if len(o.Operators) == 0 {
		return nil, errors.New("write manifests: the program has no operator")
	}
	for _, d := range o.Operators {
		if err := unresolved(d.Unserved); err != nil {
			return nil, err
		}
	}
	o.Served = unique(o.Served)
	if o.Namespace == "" {
		o.Namespace = "default"
		if len(o.Served) == 1 && !isPattern(o.Served[0]) {
			o.Namespace = o.Served[0]
		}
	}
	m := &Manifests{options: o}
	for _, d := range o.Operators {
		m.leases = m.leases || d.Leases.Name != ""
		m.webhooks = cmp.Or(m.webhooks, d.Webhooks)
	}
	m.addRules()
	if m.options.Replicas == 0 {
		m.options.Replicas = 1
		if m.leases {
			m.options.Replicas = 2
		}
	}
	var err error
	if m.health, err = o.findHealth(); err != nil {
		return nil, err
	}
	return m, m.check()
}

// addRules adds the rules of all roles.
func (m *Manifests) addRules() {
	o := &m.options
	of := func(scope inspect.PermissionScope, namespace string) []Rule {
		return rules(o.Operators, func(p inspect.Permission) bool { return p.Scope == scope && p.Namespace == namespace })
	}
	m.cluster, m.served = of(inspect.ScopeCluster, ""), of(inspect.ScopeServed, "")
	m.own = rules(o.Operators, func(p inspect.Permission) bool {
		return p.Scope == inspect.ScopeOwn || p.Scope == inspect.ScopeNamed && p.Namespace == o.Namespace
	})
	for _, d := range o.Operators {
		for _, p := range d.Permissions {
			m.peering = m.peering || p.Resource == "clusterkopfpeerings" || p.Resource == "kopfpeerings"
			known := func(n namespace) bool { return n.name == p.Namespace }
			if p.Scope == inspect.ScopeNamed && p.Namespace != o.Namespace && !slices.ContainsFunc(m.named, known) {
				m.named = append(m.named, namespace{p.Namespace, of(inspect.ScopeNamed, p.Namespace)})
			}
		}
	}
}

// check returns the errors in the options.
func (m *Manifests) check() error {
	o := &m.options
	labels := []string{o.Name, o.Namespace}
	if len(m.served) > 0 {
		labels = append(labels, o.Served...)
	}
	for _, n := range m.named {
		labels = append(labels, n.name)
	}
	for _, name := range labels {
		if mistakes := validation.NameIsDNSLabel(name, false); len(mistakes) > 0 {
			return fmt.Errorf("write manifests: %q is not a valid name: %s", name, mistakes[0])
		}
	}
	switch {
	case o.Replicas < 1:
		return fmt.Errorf("write manifests: %d replicas: want at least 1", o.Replicas)
	case o.Replicas > 1 && !m.leases:
		return fmt.Errorf("write manifests: %d replicas would handle each object %d times: make them share a lease, by --leader-elect or --shards", o.Replicas, o.Replicas)
	case m.webhooks == "" && o.Certificate != "":
		return errors.New("write manifests: there is a certificate, but the operator has no admission handlers")
	case m.webhooks == "" || o.Image == "":
		return nil
	case o.Replicas > 1 && o.Certificate == "":
		return fmt.Errorf("write manifests: %d replicas would each make a certificate for the webhooks: name a Secret with a certificate for %s.%s.svc: --webhook-cert-secret", o.Replicas, o.Name, o.Namespace)
	}
	if mistakes := validation.NameIsDNS1035Label(o.Name, false); len(mistakes) > 0 {
		return fmt.Errorf("write manifests: %q is not a valid name for the Service of the webhooks: %s", o.Name, mistakes[0])
	}
	if mistakes := validation.NameIsDNSSubdomain(o.Certificate, false); o.Certificate != "" && len(mistakes) > 0 {
		return fmt.Errorf("write manifests: %q is not a valid name of a Secret: %s", o.Certificate, mistakes[0])
	}
	return nil
}

// unique returns the texts without repetitions.
func unique(texts []string) []string {
	var all []string
	for _, text := range texts {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// isPattern reports whether a namespace to serve is not just a name.
func isPattern(namespace string) bool { return strings.ContainsAny(namespace, "!*?,[") }

// UnresolvedError reports selectors for which the resources are not known.
type UnresolvedError struct{ Unserved []inspect.Unserved }

func (e *UnresolvedError) Error() string {
	lines := make([]string, len(e.Unserved))
	for i, u := range e.Unserved {
		handlers := strings.Join(u.Handlers, ", ")
		if u.Reason == inspect.UnservedAmbiguous {
			lines[i] = fmt.Sprintf("%q matches several resources, %s: name its API group in %s", u.Selector, strings.Join(u.Matches, " and "), handlers)
		} else {
			lines[i] = fmt.Sprintf("%q is not a resource of Kubernetes, nor of a known definition: add --crd with its definition, or name its group and plural in %s",
				u.Selector, handlers)
		}
	}
	return strings.Join(lines, "\n")
}

func unresolved(list []inspect.Unserved) error {
	list = slices.DeleteFunc(slices.Clone(list), func(u inspect.Unserved) bool {
		return u.Reason != inspect.UnservedUnresolved && u.Reason != inspect.UnservedAmbiguous
	})
	if len(list) == 0 {
		return nil
	}
	return &UnresolvedError{list}
}

// YAML returns all manifests as documents of one file, with a comment for each rule.
func (m *Manifests) YAML() string {
	documents := append(m.account(), m.roles()...)
	switch {
	case m.removal != nil:
		documents = append(documents, m.job())
	case m.options.Image != "":
		if m.webhooks != "" {
			documents = append(documents, m.service())
		}
		documents = append(documents, m.deployment())
	}
	return strings.Join(documents, "---\n")
}

// JSON returns all manifests as a list.
func (m *Manifests) JSON() ([]byte, error) {
	return toJSON(m.YAML())
}

// toJSON returns the objects of documents as a list.
func toJSON(text string) ([]byte, error) {
	objects, err := parse(text)
	if err != nil {
		return nil, err
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
	body, err := json.MarshalIndent(list, "", "  ")
	return printable.JSON(body), err
}

// Permissions returns the objects with the operator's permissions: its service account, roles and bindings.
func (m *Manifests) Permissions() ([]*unstructured.Unstructured, error) {
	trees, err := parse(strings.Join(append(m.account(), m.roles()...), "---\n"))
	if err != nil {
		return nil, err
	}
	objects := make([]*unstructured.Unstructured, len(trees))
	for i, tree := range trees {
		objects[i] = &unstructured.Unstructured{Object: tree}
	}
	return objects, nil
}

// Namespace returns the namespace that the operator runs in.
func (m *Manifests) Namespace() string { return m.options.Namespace }

// User returns the name of the user that the operator is in the cluster.
func (m *Manifests) User() string {
	return "system:serviceaccount:" + m.options.Namespace + ":" + m.options.Name
}

// Need is a permission in one namespace, or in the whole cluster.
type Need struct {
	inspect.Permission
	In string // the namespace; empty for the whole cluster
}

// Needs returns the permissions of the roles.
func (m *Manifests) Needs() []Need {
	var all []Need
	for _, d := range m.options.Operators {
		for _, p := range d.Permissions {
			namespaces := []string{""}
			switch p.Scope {
			case inspect.ScopeServed:
				namespaces = m.options.Served
			case inspect.ScopeOwn:
				namespaces = []string{m.options.Namespace}
			case inspect.ScopeNamed:
				namespaces = []string{p.Namespace}
			}
			for _, namespace := range namespaces {
				all = append(all, Need{p, namespace})
			}
		}
	}
	return all
}

func parse(text string) ([]map[string]any, error) {
	var all []map[string]any
	for document := range strings.SplitSeq(text, "---\n") {
		var tree map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &tree); err != nil {
			return nil, fmt.Errorf("write manifests: %w", err)
		}
		all = append(all, tree)
	}
	return all, nil
}
