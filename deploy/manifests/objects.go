package manifests

import (
	"fmt"
	"strings"
)

// metadata returns the metadata of an object. The namespace is empty for objects of none.
func (m *Manifests) metadata(name, namespace string) string {
	text := "metadata:\n  name: " + scalar(name) + "\n"
	if namespace != "" {
		text += "  namespace: " + scalar(namespace) + "\n"
	}
	text += "  labels:\n    app.kubernetes.io/name: " + scalar(m.options.Name) + "\n    app.kubernetes.io/managed-by: kopf\n"
	if m.removal != nil {
		text += m.removal.annotations()
	}
	return text
}

func (m *Manifests) account() []string {
	o := m.options
	return []string{"apiVersion: v1\nkind: ServiceAccount\n" + m.metadata(o.Name, o.Namespace)}
}

// roles returns the roles that are needed, each with its binding.
func (m *Manifests) roles() []string {
	o := m.options
	var documents []string
	add := func(kind, name, namespace string, rules []Rule) {
		if len(rules) > 0 {
			documents = append(documents, m.role(kind, name, namespace, rules), m.binding(kind, name, namespace))
		}
	}
	add("ClusterRole", o.Name, "", m.cluster)
	for _, namespace := range o.Served {
		add("Role", o.Name, namespace, m.served)
	}
	own := o.Name + ownSuffix // another role of the same namespace may have the name
	add("Role", own, o.Namespace, m.own)
	for _, namespace := range m.named {
		add("Role", own, namespace.name, namespace.rules)
	}
	return documents
}

// ownSuffix ends the names of the roles for the operator's own namespace, and for its leases.
const ownSuffix = "-own"

const (
	// commentPrefix begins the lines of comments in roles.
	commentPrefix = "  # "

	// commentWidth is the width of lines with comments.
	commentWidth = 110
)

func (m *Manifests) role(kind, name, namespace string, rules []Rule) string {
	var b strings.Builder
	b.WriteString("apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\n" + m.metadata(name, namespace) + "rules:\n")
	for _, r := range rules {
		for paragraph := range strings.Lines(r.Comment) {
			for _, line := range wrap(strings.TrimRight(paragraph, "\n"), commentWidth-len(commentPrefix)) {
				b.WriteString(commentPrefix + line + "\n")
			}
		}
		fmt.Fprintf(&b, "  - apiGroups: %s\n    resources: %s\n", sequence(r.Groups), sequence(r.Resources))
		if len(r.Names) > 0 {
			fmt.Fprintf(&b, "    resourceNames: %s\n", sequence(r.Names))
		}
		fmt.Fprintf(&b, "    verbs: %s\n", sequence(r.Verbs))
	}
	return b.String()
}

func (m *Manifests) binding(kind, name, namespace string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "Binding\n" + m.metadata(name, namespace) +
		"roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: " + kind + "\n  name: " + scalar(name) + "\n" +
		"subjects:\n  - kind: ServiceAccount\n    name: " + scalar(m.options.Name) + "\n    namespace: " + scalar(m.options.Namespace) + "\n"
}

// service returns the Service by which the API server reaches the webhooks.
func (m *Manifests) service() string {
	o := m.options
	return "apiVersion: v1\nkind: Service\n" + m.metadata(o.Name, o.Namespace) +
		"spec:\n  selector:\n    app.kubernetes.io/name: " + scalar(o.Name) + "\n  ports:\n    - name: webhooks\n      port: 443\n      targetPort: webhooks\n"
}
