// Package database runs databases. It creates the children of a database in steps; the last step publishes the address in another
// namespace.
package database

import (
	"context"
	"crypto/rand"
	"embed"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/manifest"
)

//go:embed children
var files embed.FS

type operator struct{ steps []*manifest.Set }

func newOperator(r *kopf.Registry) *operator {
	o := &operator{}
	for _, step := range []string{"secret", "server", "migration", "access", "publication"} {
		o.steps = append(o.steps, manifest.New(r, files, "children/"+step+".yaml"))
	}
	return o
}

// Register registers the handler. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	o := newOperator(r)
	kopf.OnReconcile(r, kopf.Resource("kopf.dev/v1", "databases"), o.reconcile,
		kopf.Own{Resource: kopf.Resource("v1", "secrets"), Once: []kopf.Path{"data.password"}},
		kopf.Own{Resource: kopf.Resource("apps/v1", "statefulsets"), Recreate: metav1.DeletePropagationOrphan}, // keeps the pods
		kopf.Own{Resource: kopf.Resource("batch/v1", "jobs"), Recreate: metav1.DeletePropagationBackground},
		kopf.Own{Resource: kopf.Resource("v1", "services")},
		kopf.Own{Resource: kopf.Resource("v1", "configmaps"), Elsewhere: true}) // in the namespace kube-public
}

// reconcile takes the steps in their order. When the children of a step are ready, another pass continues with the next step.
func (o *operator) reconcile(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
	vars := manifest.Vars{"password": rand.Text()} // Own.Once applies only the password of the first pass
	for _, step := range o.steps {
		objs, err := step.Render(p.Body, vars)
		if err != nil {
			return err
		}
		if err := p.Apply(ctx, objs...); err != nil {
			return err
		}
		if err := p.WaitReady(objs...); err != nil {
			return err
		}
	}
	p.Patch.Set("status.version", kopf.GetOr(p.Object, "spec.version", ""))
	return nil
}
