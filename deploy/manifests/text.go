package manifests

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// plain matches texts that need no quotes in YAML, apart from the words below. Numbers and what has a colon
// need some.
var plain = regexp.MustCompile(`^(--)?[a-z][a-zA-Z0-9]*([-./=][-a-zA-Z0-9./=]*[a-zA-Z0-9])?$`)

// words are the plain texts that readers of YAML take for something else.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// scalar returns a text as a scalar of YAML.
func scalar(text string) string {
	if plain.MatchString(text) && !slices.Contains(words, text) {
		return text
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // texts encode
	}
	return string(quoted)
}

// sequence returns texts as a sequence of YAML in one line.
func sequence(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = scalar(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// metadata returns the metadata of an object. The namespace is empty for objects of none.
func metadata(name, namespace string) string {
	text := "metadata:\n  name: " + scalar(name) + "\n"
	if namespace != "" {
		text += "  namespace: " + scalar(namespace) + "\n"
	}
	return text + "  labels:\n    app.kubernetes.io/name: " + scalar(name) + "\n    app.kubernetes.io/managed-by: kopf\n"
}

func (m *Manifests) account() []string {
	o := m.options
	return []string{"apiVersion: v1\nkind: ServiceAccount\n" + metadata(o.Name, o.Namespace)}
}

// roles returns the roles that are needed, each with its binding.
func (m *Manifests) roles() []string {
	o := m.options
	var documents []string
	if len(m.cluster) > 0 {
		documents = append(documents, role("ClusterRole", o.Name, "", m.cluster), m.binding("ClusterRole", o.Name, ""))
	}
	for _, namespace := range o.Served {
		if len(m.served) > 0 {
			documents = append(documents, role("Role", o.Name, namespace, m.served), m.binding("Role", o.Name, namespace))
		}
	}
	if len(m.own) > 0 {
		name := o.Name + "-own" // another role of the same namespace may have the name
		documents = append(documents, role("Role", name, o.Namespace, m.own), m.binding("Role", name, o.Namespace))
	}
	return documents
}

func role(kind, name, namespace string, rules []Rule) string {
	var b strings.Builder
	b.WriteString("apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "\n" + metadata(name, namespace) + "rules:\n")
	for _, r := range rules {
		for line := range strings.Lines(r.Comment) {
			b.WriteString("  # " + strings.TrimRight(line, "\n") + "\n")
		}
		fmt.Fprintf(&b, "  - apiGroups: %s\n    resources: %s\n    verbs: %s\n", sequence(r.Groups), sequence(r.Resources), sequence(r.Verbs))
	}
	return b.String()
}

func (m *Manifests) binding(kind, name, namespace string) string {
	return "apiVersion: rbac.authorization.k8s.io/v1\nkind: " + kind + "Binding\n" + metadata(name, namespace) +
		"roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: " + kind + "\n  name: " + scalar(name) + "\n" +
		"subjects:\n  - kind: ServiceAccount\n    name: " + scalar(m.options.Name) + "\n    namespace: " + scalar(m.options.Namespace) + "\n"
}

// deploymentText is the Deployment. Its arguments are the metadata, the name, the image, the operator's
// arguments, and the port and the path of the health.
const deploymentText = `apiVersion: apps/v1
kind: Deployment
%[1]sspec:
  replicas: 1
  # The old pod ends before the new one starts: two at a time would handle objects twice.
  strategy:
    type: Recreate
  selector:
    matchLabels:
      app.kubernetes.io/name: %[2]s
  template:
    metadata:
      labels:
        app.kubernetes.io/name: %[2]s
    spec:
      serviceAccountName: %[2]s
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: operator
          image: %[3]s
          args: %[4]s
          ports:
            - name: health
              containerPort: %[5]s
          livenessProbe:
            httpGet:
              port: health
              path: %[6]s
            periodSeconds: 30
            timeoutSeconds: 10
          readinessProbe:
            httpGet:
              port: health
              path: %[6]s
            timeoutSeconds: 10
          resources:
            requests:
              cpu: 10m
              memory: 64Mi
            limits:
              memory: 512Mi
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: ["ALL"]
`

func (m *Manifests) deployment() string {
	o := m.options
	address, port, path := m.liveness()
	args := []string{"--all-namespaces"}
	if len(o.Served) > 0 {
		args = nil
		for _, namespace := range o.Served {
			args = append(args, "--namespace="+namespace)
		}
	}
	args = append(args, "--log-format=json", "--liveness="+address)
	return fmt.Sprintf(deploymentText, metadata(o.Name, o.Namespace), scalar(o.Name), scalar(o.Image), sequence(args), port, scalar(path))
}
