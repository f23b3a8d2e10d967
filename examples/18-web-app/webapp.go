// Package webapp runs web applications: each has a ConfigMap, a Deployment, a Service and, with a host, an Ingress.
package webapp

import (
	"context"
	"embed"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/manifest"
)

//go:embed children
var files embed.FS

var (
	webapps     = kopf.Resource("kopf.dev/v1", "webapps")
	deployments = kopf.Resource("apps/v1", "deployments")
	secrets     = kopf.Resource("v1", "secrets")
)

// WebApp has the fields that the handler reads. The manifests read others, such as spec.image.
type WebApp struct {
	Spec struct {
		Host      string            `json:"host"`
		Config    map[string]string `json:"config"`
		TLSSecret string            `json:"tlsSecret"`
	} `json:"spec"`
}

type operator struct{ base, ingress *manifest.Set }

// Register registers the handler. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	o := &operator{base: manifest.New(r, files, "children/base.yaml"), ingress: manifest.New(r, files, "children/ingress.yaml")}
	kopf.Conditions(r, webapps)
	kopf.OnReconcile(r, webapps, o.reconcile,
		kopf.Own{Resource: kopf.Resource("v1", "configmaps")},
		kopf.Own{Resource: deployments, Observe: []kopf.Path{"status.readyReplicas"}},
		kopf.Own{Resource: kopf.Resource("v1", "services")},
		kopf.Own{Resource: kopf.Resource("networking.k8s.io/v1", "ingresses")},
		kopf.RefersTo(secrets, "spec.tlsSecret"))
}

func (o *operator) reconcile(ctx context.Context, p *kopf.Pass[WebApp]) error {
	// The checksum is an annotation of the pods, so that another configuration or certificate replaces them.
	vars := manifest.Vars{"checksum": manifest.Checksum(p.Object.Spec.Config, p.Versions(secrets)), "volumes": nil, "mounts": nil}
	if name := p.Object.Spec.TLSSecret; name != "" {
		vars["volumes"] = []any{map[string]any{"name": "tls", "secret": map[string]any{"secretName": name, "optional": true}}}
		vars["mounts"] = []any{map[string]any{"name": "tls", "mountPath": "/etc/tls", "readOnly": true}}
	}
	objs, err := o.base.Render(p.Body, vars)
	if err != nil {
		return err
	}
	if p.Object.Spec.Host != "" { // without a host, an existing ingress is pruned
		ingress, err := o.ingress.Render(p.Body, nil)
		if err != nil {
			return err
		}
		objs = append(objs, ingress...)
	}
	if err := p.Apply(ctx, objs...); err != nil {
		return err
	}
	for d := range p.Children(deployments) {
		p.Patch.Set("status.readyReplicas", kopf.GetOr(d.Observed, "status.readyReplicas", 0))
	}
	return nil
}
