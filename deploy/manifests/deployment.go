package manifests

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"text/template"
)

const (
	// webhookPort is where the operator receives admission reviews.
	webhookPort = 9443

	// certificateFolder is where the certificate of the webhooks is mounted.
	certificateFolder = "/certificates"
)

// deploymentText is the Deployment.
var deploymentText = template.Must(template.New("deployment").Funcs(template.FuncMap{"scalar": scalar}).Parse(
	`apiVersion: apps/v1
kind: Deployment
{{.Metadata}}spec:
  replicas: {{.Replicas}}
{{- if not .Leases}}
  # The old pod ends before the new one starts: two at a time would handle objects twice.
  strategy:
    type: Recreate
{{- end}}
  selector:
    matchLabels:
      app.kubernetes.io/name: {{scalar .Name}}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{scalar .Name}}
    spec:
      serviceAccountName: {{scalar .Name}}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: operator
          image: {{scalar .Image}}
          args:
{{- range .Args}}
            - {{scalar .}}
{{- end}}
{{- if .Variables}}
          env:
{{- range .Variables}}
            - name: {{.Name}}
              valueFrom:
                fieldRef:
                  fieldPath: {{.Field}}
{{- end}}
{{- end}}
          ports:
            - name: health
              containerPort: {{.HealthPort}}
{{- if .WebhookPort}}
            - name: webhooks
              containerPort: {{.WebhookPort}}
{{- end}}
          livenessProbe:
            httpGet:
              port: health
              path: {{scalar .HealthPath}}
            periodSeconds: 30
            timeoutSeconds: 10
          readinessProbe:
            httpGet:
              port: health
              path: {{scalar .ReadyPath}}
            periodSeconds: 2
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
{{- if .Certificate}}
          volumeMounts:
            - name: certificates
              mountPath: {{.CertificateFolder}}
              readOnly: true
      volumes:
        - name: certificates
          secret:
            secretName: {{scalar .Certificate}}
{{- end}}
`))

// variable is an environment variable with a field of the pod.
type variable struct{ Name, Field string }

// deployment is what [deploymentText] needs.
type deployment struct {
	Options
	Metadata               string
	Leases                 bool
	Args                   []string
	Variables              []variable
	HealthPort, HealthPath string
	ReadyPath              string // path and query
	WebhookPort            int    // 0 without webhooks
	CertificateFolder      string
}

func (m *Manifests) deployment() string {
	o := m.options
	d := deployment{
		Options: o, Metadata: m.metadata(o.Name, o.Namespace), Leases: m.leases, HealthPort: m.health.port, HealthPath: m.health.path,
		CertificateFolder: certificateFolder, ReadyPath: m.health.path + "?ready",
	}
	d.Args = append(m.scopeArgs(), o.Args...)
	d.Args = append(d.Args, "--log-format=json", "--liveness="+m.health.address)
	if m.peering && !m.leases || m.webhooks != "" { // replicas are one peer with the name of their lease, but have claims of their own
		d.Variables = append(d.Variables, variable{"POD_ID", "metadata.name"})
	}
	if m.webhooks != "" {
		d.WebhookPort = webhookPort
		d.Args = append(d.Args, m.webhookArgs()...)
		d.Variables = append(d.Variables, variable{"POD_NAMESPACE", "metadata.namespace"}, variable{"SERVICE_ACCOUNT", "spec.serviceAccountName"})
	}
	var b strings.Builder
	if err := deploymentText.Execute(&b, d); err != nil {
		panic(err) // the template is not the user's
	}
	return b.String()
}

// scopeArgs returns the operator's flags for the served namespaces.
func (m *Manifests) scopeArgs() []string {
	if len(m.options.Served) == 0 {
		return []string{"--all-namespaces"}
	}
	args := make([]string, len(m.options.Served))
	for i, namespace := range m.options.Served {
		args[i] = "--namespace=" + namespace
	}
	return args
}

// webhookArgs returns the operator's flags for its webhooks. The Service is in the namespace of the pod, and has the
// name of the service account, so that tools which move or rename the objects need not change the flags.
func (m *Manifests) webhookArgs() []string {
	o := m.options
	args := []string{
		"--webhook-listen=:" + strconv.Itoa(webhookPort), "--webhook-service=$(POD_NAMESPACE)/$(SERVICE_ACCOUNT)", "--webhook-managed=" + m.webhooks,
	}
	if o.Certificate != "" {
		args = append(args, "--webhook-cert="+certificateFolder+"/tls.crt", "--webhook-key="+certificateFolder+"/tls.key", "--webhook-ca="+certificateFolder+"/ca.crt")
	}
	return args
}

// health is where the operator reports its health.
type health struct{ address, port, path string }

// findHealth returns where the operators report their health. The address that the code of an operator sets takes
// precedence.
func (o *Options) findHealth() (health, error) {
	h := health{address: "http://0.0.0.0:8080/healthz"}
	for _, d := range o.Operators {
		h.address = cmp.Or(d.Liveness, h.address)
	}
	u, err := url.Parse(h.address)
	if err != nil || u.Scheme != "http" || u.Hostname() != "" && u.Hostname() != "0.0.0.0" && u.Hostname() != "::" {
		return h, fmt.Errorf("write manifests: the operator reports its health at %s, where Kubernetes cannot probe it: set Settings.Process.Liveness to one such as http://0.0.0.0:8080/healthz",
			h.address)
	}
	h.port, h.path = cmp.Or(u.Port(), "80"), cmp.Or(u.Path, "/")
	return h, nil
}
