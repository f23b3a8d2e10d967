// Package claims is the operator of the tutorial: it creates a PersistentVolumeClaim for each
// EphemeralVolumeClaim, updates its size and labels, and deletes it with its owner.
package claims

import (
	"context"
	"encoding/json"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

// Claim has the fields of an EphemeralVolumeClaim that the handlers read.
type Claim struct {
	Spec struct {
		Size string `json:"size"`
	} `json:"spec"`
	Status struct {
		Create struct {
			Volume string `json:"pvc-name"`
		} `json:"create"`
	} `json:"status"`
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
	claim := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "PersistentVolumeClaim",
		"spec": map[string]any{
			"accessModes":      []any{"ReadWriteOnce"},
			"storageClassName": "ephemeral",
			"resources":        requests(c.Object.Spec.Size),
		},
	}}
	// Give it the owner's namespace, name and labels, and delete it with the owner.
	if err := owner.Adopt(claim, c.Body, owner.Options{ExactName: true}); err != nil {
		return err
	}

	volumes, err := volumeClaims(ctx, c.Namespace)
	if err != nil {
		return err
	}
	_, err = volumes.Create(ctx, claim, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		// An earlier attempt created it but could not store the result.
		c.Logger.Info("the volume claim already exists", "pvc", claim.GetName())
	case err != nil:
		return err
	default:
		c.Logger.Info("created the volume claim", "pvc", claim.GetName(), "size", c.Object.Spec.Size)
	}
	c.Result = map[string]string{"pvc-name": claim.GetName()}
	return nil
}

// resize updates the size of the volume claim. Kubernetes lets a volume grow but not shrink, and
// only after the claim is bound.
func resize(ctx context.Context, c *kopf.Change[Claim]) error {
	if c.Object.Spec.Size == "" {
		return kopf.Permanentf("spec.size must be set")
	}
	name := c.Object.Status.Create.Volume
	volumes, err := volumeClaims(ctx, c.Namespace)
	if err != nil {
		return err
	}
	claim, err := volumes.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if phase, _, _ := unstructured.NestedString(claim.Object, "status", "phase"); phase != "Bound" {
		return kopf.Temporaryf(time.Second, "the volume claim is not bound yet: it is %s", phase)
	}
	c.Logger.Info("resizing the volume claim", "pvc", name, "size", c.Object.Spec.Size)
	return patchVolume(ctx, &c.Request, map[string]any{
		"spec": map[string]any{"resources": requests(c.Object.Spec.Size)},
	})
}

// relabel updates the labels of the volume claim by their diff: labels that the owner has lost are
// removed, and labels of others stay.
func relabel(ctx context.Context, c *kopf.FieldChange[map[string]string]) error {
	labels := map[string]any{}
	for _, change := range c.Diff {
		if keys := change.Keys(); len(keys) == 1 {
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

// patchVolume patches the volume claim of an object.
func patchVolume(ctx context.Context, r *kopf.Request, patch map[string]any) error {
	name := kopf.GetOr(r.Body, "status.create.pvc-name", "")
	if name == "" {
		return kopf.Permanentf("the object has no volume claim: its creation has failed")
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	volumes, err := volumeClaims(ctx, r.Namespace)
	if err != nil {
		return err
	}
	_, err = volumes.Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return kopf.Permanentf("%s: %w", name, err) // a retry cannot succeed
	}
	return err
}

func requests(size string) map[string]any {
	return map[string]any{"requests": map[string]any{"storage": size}}
}

// volumeClaims returns a client for the claims of a namespace, with the operator's credentials.
func volumeClaims(ctx context.Context, namespace string) (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return nil, err
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	return client.Resource(resource).Namespace(namespace), nil
}
