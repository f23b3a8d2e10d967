package claims

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// newVolume returns a volume claim of a size, without a name.
func newVolume(size string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "PersistentVolumeClaim",
		"spec": map[string]any{
			"accessModes":      []any{"ReadWriteOnce"},
			"storageClassName": "ephemeral",
			"resources":        requests(size),
		},
	}}
}

func requests(size string) map[string]any {
	return map[string]any{"requests": map[string]any{"storage": size}}
}

// createVolume creates a volume claim, unless an earlier attempt did and could not store the result.
func createVolume(ctx context.Context, volume *unstructured.Unstructured) error {
	client, err := volumeClient(ctx, volume.GetNamespace())
	if err != nil {
		return err
	}
	_, err = client.Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// getVolume returns the volume claim of an object. It fails permanently if there is none.
func getVolume(ctx context.Context, r *kopf.Request) (*unstructured.Unstructured, error) {
	name, err := volumeName(r)
	if err != nil {
		return nil, err
	}
	client, err := volumeClient(ctx, r.Namespace)
	if err != nil {
		return nil, err
	}
	volume, err := client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, missing(name)
	}
	return volume, err
}

// patchVolume changes the volume claim of an object by a merge patch. It fails permanently if there is none, or if
// Kubernetes rejects the change.
func patchVolume(ctx context.Context, r *kopf.Request, patch map[string]any) error {
	name, err := volumeName(r)
	if err != nil {
		return err
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	client, err := volumeClient(ctx, r.Namespace)
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return missing(name)
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
		return kopf.Permanentf("%s: %w", name, err) // a retry cannot succeed
	}
	return err
}

// volumeName returns the name that create stored.
func volumeName(r *kopf.Request) (string, error) {
	name := kopf.GetOr(r.Body, "status.create.pvc-name", "")
	if name == "" {
		return "", kopf.Permanentf("the object has no volume claim: its creation has failed")
	}
	return name, nil
}

func missing(name string) error {
	return kopf.Permanentf("the volume claim %s does not exist: delete this object and create it again", name)
}

// volumeClient returns a client for the volume claims of a namespace, with the operator's credentials.
func volumeClient(ctx context.Context, namespace string) (dynamic.ResourceInterface, error) {
	client, err := dynamic.NewForConfig(kopf.RESTConfig(ctx))
	if err != nil {
		return nil, err
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	return client.Resource(resource).Namespace(namespace), nil
}
