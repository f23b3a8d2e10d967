package manifests

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/uninstall"
)

// UninstallOptions describe the removal of a deployed operator.
type UninstallOptions struct {
	// Finalizer is the finalizer that a startup handler of the operator sets. Defaults to the finalizer in the
	// operator's description.
	Finalizer string

	// Deployment is the name of the operator's Deployment in the cluster. Defaults to that in its manifest, which a
	// kustomization may have changed.
	Deployment string

	// DryRun makes the Job only list the things to remove. Defaults to false.
	DryRun bool
}

// removal has the additional data for the manifests of a Job that removes an operator.
type removal struct {
	UninstallOptions
	operator *Manifests
}

// uninstallSuffix ends the names of the objects that remove an operator.
const uninstallSuffix = "-uninstall"

// Uninstall returns the manifests of a Job that stops the operator and removes its leftovers, with the Job's own
// service account and roles.
func (m *Manifests) Uninstall(o UninstallOptions) (*Manifests, error) {
	if m.options.Image == "" {
		return nil, errors.New("write manifests: the Job that removes the operator needs its image")
	}
	o.Deployment = cmp.Or(o.Deployment, m.options.Name)
	if bad := validation.IsDNS1123Subdomain(o.Deployment); len(bad) > 0 {
		return nil, fmt.Errorf("write manifests: the Deployment %q cannot have this name: %s", o.Deployment, bad[0])
	}
	options := m.options
	options.Name, options.Replicas, options.Certificate = m.options.Name+uninstallSuffix, 1, ""
	options.Operators = slices.Clone(options.Operators)
	for i, d := range options.Operators {
		options.Operators[i] = inspect.Description{Permissions: uninstall.Permissions(d, o.Deployment)}
	}
	job := &Manifests{options: options, removal: &removal{UninstallOptions: o, operator: m}}
	job.addRules()
	return job, job.check()
}

// annotations returns the annotations that make Helm create the objects before it deletes those of the operator, if
// they are part of a chart.
func (r *removal) annotations() string {
	if r.DryRun {
		return ""
	}
	return "  annotations:\n    helm.sh/hook: pre-delete\n    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded\n"
}

// jobText is the Job.
var jobText = template.Must(template.New("job").Funcs(template.FuncMap{"scalar": scalar}).Parse(
	`apiVersion: batch/v1
kind: Job
{{.Metadata}}spec:
  backoffLimit: 3
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{scalar .Name}}
    spec:
      restartPolicy: Never
      serviceAccountName: {{scalar .Name}}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      containers:
        - name: uninstall
          image: {{scalar .Image}}
          args:
{{- range .Args}}
            - {{scalar .}}
{{- end}}
          env:
            - name: POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
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
`))

// job returns the Job. That of a dry run has another name: a Job cannot be changed into another one.
func (m *Manifests) job() string {
	name := m.options.Name
	if m.removal.DryRun {
		name = m.removal.operator.options.Name + "-dry-run"
	}
	var b strings.Builder
	data := struct {
		Metadata, Name, Image string
		Args                  []string
	}{m.metadata(name, m.options.Namespace), m.options.Name, m.options.Image, m.removal.args()}
	if err := jobText.Execute(&b, data); err != nil {
		panic(err) // the template is not the user's
	}
	return b.String()
}

// args returns the arguments of the operator's program: the flags of the Deployment that affect its leftovers.
func (r *removal) args() []string {
	m := r.operator
	args := append([]string{"uninstall"}, m.scopeArgs()...)
	args = append(args, m.options.Args...)
	if !m.peering && !slices.Contains(args, "--standalone") {
		args = append(args, "--standalone") // it is not permitted to read peering objects, and has no records there
	}
	if m.webhooks != "" {
		args = append(args, "--webhook-managed="+m.webhooks)
	}
	if r.Finalizer != "" {
		args = append(args, "--finalizer="+r.Finalizer)
	}
	if r.DryRun {
		args = append(args, "--dry-run")
	}
	return append(args, "--deployment=$(POD_NAMESPACE)/"+r.Deployment)
}
