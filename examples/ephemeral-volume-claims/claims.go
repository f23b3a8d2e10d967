// Package claims is the operator of the tutorial: each EphemeralVolumeClaim has a PersistentVolumeClaim of its size and
// with its labels, which is deleted with it.
package claims

import (
	"context"
	"embed"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/manifest"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

//go:embed children/volume.yaml
var files embed.FS

// Claim has the fields of an EphemeralVolumeClaim that the handler reads.
type Claim struct {
	Spec struct {
		Size string `json:"size"`
	} `json:"spec"`
}

type operator struct{ volume *manifest.Set }

// Register registers the handler. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	o := &operator{volume: manifest.New(r, files, "children/volume.yaml")}
	kopf.OnReconcile(r, kopf.Resource("kopf.dev/v1", "ephemeralvolumeclaims"), o.reconcile,
		kopf.Own{Resource: kopf.Resource("v1", "persistentvolumeclaims")})
}

// reconcile keeps the volume claim. It has the name and the namespace of its owner.
func (o *operator) reconcile(ctx context.Context, p *kopf.Pass[Claim]) error {
	if p.Object.Spec.Size == "" {
		return kopf.Permanentf("spec.size must be set")
	}
	volume, err := o.volume.Render(p.Body, nil)
	if err != nil {
		return err
	}
	if err := owner.AddLabels(volume, p.Labels, owner.Options{}); err != nil {
		return err
	}
	if p.Child(volume[0]) != nil { // only a bound claim can grow
		if err := p.WaitReady(volume...); err != nil {
			return err
		}
	}
	if err := p.Apply(ctx, volume...); err != nil {
		return err
	}
	p.Patch.Set("status.size", p.Object.Spec.Size)
	return p.WaitReady(volume...)
}
