// Package claims is the operator of the tutorial: it creates a PersistentVolumeClaim for each
// EphemeralVolumeClaim, updates its size and labels, and deletes it with its owner.
package claims

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

// Claim has the fields of an EphemeralVolumeClaim that the handlers read.
type Claim struct {
	Spec struct {
		Size string `json:"size"`
	} `json:"spec"`
}

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	claims := kopf.Resource("kopf.dev/v1", "ephemeralvolumeclaims")
	volumes := kopf.Resource("v1", "persistentvolumeclaims")
	kopf.OnCreate(r, claims, create, kopf.Uses(volumes, "create"))
	kopf.OnUpdate(r, claims, resize, kopf.Field("spec.size"), kopf.Uses(volumes, "get", "patch"))
	kopf.OnField(r, claims, "metadata.labels", relabel, kopf.When(isUpdate), kopf.Uses(volumes, "patch"))
}

// create creates the volume claim. Result is stored at status.create, where the other handlers
// find the name of the volume claim.
func create(ctx context.Context, c *kopf.Change[Claim]) error {
	if c.Object.Spec.Size == "" {
		return kopf.Permanentf("spec.size must be set")
	}
	volume := newVolume(c.Object.Spec.Size)
	// Give it the owner's namespace, name and labels, and delete it with the owner.
	if err := owner.Adopt(volume, c.Body, owner.Options{ExactName: true}); err != nil {
		return err
	}
	if err := createVolume(ctx, volume); err != nil {
		return err
	}
	c.Logger.Info("the volume claim exists", "pvc", volume.GetName(), "size", c.Object.Spec.Size)
	c.Result = map[string]string{"pvc-name": volume.GetName()}
	return nil
}

// resize updates the size of the volume claim. In Kubernetes, a volume can grow but not shrink, and only after the
// claim is bound.
func resize(ctx context.Context, c *kopf.Change[Claim]) error {
	if c.Object.Spec.Size == "" {
		return kopf.Permanentf("spec.size must be set")
	}
	volume, err := getVolume(ctx, &c.Request)
	if err != nil {
		return err
	}
	if phase, _, _ := unstructured.NestedString(volume.Object, "status", "phase"); phase != "Bound" {
		return kopf.Temporaryf(time.Second, "the volume claim is not bound yet: it is %s", phase)
	}
	c.Logger.Info("resizing the volume claim", "pvc", volume.GetName(), "size", c.Object.Spec.Size)
	return patchVolume(ctx, &c.Request, map[string]any{
		"spec": map[string]any{"resources": requests(c.Object.Spec.Size)},
	})
}

// relabel updates the labels of the volume claim by their diff: labels that the owner has lost are
// removed, and labels of others stay.
func relabel(ctx context.Context, c *kopf.FieldChange[map[string]string]) error {
	labels := map[string]any{}
	for _, change := range c.Diff {
		if keys := change.Path.Keys(); len(keys) == 1 {
			labels[keys[0]] = change.New // nil removes it
			continue
		}
		// All labels changed at once: the first was added, or the last removed.
		for name := range c.Old {
			labels[name] = nil
		}
		for name, value := range c.New {
			labels[name] = value
		}
	}
	return patchVolume(ctx, &c.Request, map[string]any{"metadata": map[string]any{"labels": labels}})
}

// isUpdate filters out new objects: their volume claims are created with the labels.
func isUpdate(_ context.Context, c *kopf.FieldChange[map[string]string]) bool {
	return c.Reason == kopf.ReasonUpdate
}
