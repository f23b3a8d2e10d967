package manifests

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Options describe a deployment.
type Options struct {
	// Name is the name of all objects. It must be a DNS label.
	Name string

	// Namespace is where the operator runs. Defaults to the namespace that it serves if that is one, or
	// else to "default".
	Namespace string

	// Image is the operator's container image. Without it, there is no Deployment.
	Image string

	// Served are the namespaces that the operator serves, as names or patterns. Defaults to the whole
	// cluster.
	Served []string

	// Operators are what the operators of the program say of themselves.
	Operators []inspect.Description
}

// Manifests are the manifests of an operator.
type Manifests struct {
	options Options

	cluster []Rule // of the ClusterRole
	served  []Rule // of the Role in each of the served namespaces
	own     []Rule // of the Role in the operator's namespace
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
	if o.Namespace == "" {
		o.Namespace = "default"
		if len(o.Served) == 1 && !isPattern(o.Served[0]) {
			o.Namespace = o.Served[0]
		}
	}
	for _, name := range []string{o.Name, o.Namespace} {
		if mistakes := validation.NameIsDNSLabel(name, false); len(mistakes) > 0 {
			return nil, fmt.Errorf("write manifests: %q is not a valid name: %s", name, mistakes[0])
		}
	}
	return &Manifests{
		options: o,
		cluster: rules(o.Operators, inspect.ScopeCluster),
		served:  rules(o.Operators, inspect.ScopeServed),
		own:     rules(o.Operators, inspect.ScopeOwn),
	}, nil
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
	if m.options.Image != "" {
		documents = append(documents, m.deployment())
	}
	return strings.Join(documents, "---\n")
}

// JSON returns all manifests as a list.
func (m *Manifests) JSON() ([]byte, error) {
	objects, err := parse(m.YAML())
	if err != nil {
		return nil, err
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}
	return json.MarshalIndent(list, "", "  ")
}

// Permissions returns the objects that permit the operator what it does: its service account, roles and
// bindings.
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

// User returns the name of the user that the operator is in the cluster.
func (m *Manifests) User() string {
	return "system:serviceaccount:" + m.options.Namespace + ":" + m.options.Name
}

// Need is a permission in one namespace, or in the whole cluster.
type Need struct {
	inspect.Permission
	Namespace string // empty for the whole cluster
}

// Needs returns what the roles permit.
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

// liveness returns the port and the path at which the operator reports its health. The address that the
// code of an operator sets takes precedence.
func (m *Manifests) liveness() (address string, port, path string) {
	address = "http://0.0.0.0:8080/healthz"
	for _, d := range m.options.Operators {
		if d.Liveness != "" {
			address = d.Liveness
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", "", "" // the operator refuses it
	}
	port, path = u.Port(), u.Path
	if port == "" {
		port = "80"
	}
	if path == "" {
		path = "/"
	}
	return address, port, path
}
