package objects

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Delete implements [runner.Objects].
func (c *Client) Delete(ctx context.Context, ref inspect.Ref) error {
	requests, err := c.of(ref)
	if err != nil {
		return err
	}
	uid := types.UID(ref.UID)
	err = requests.Delete(ctx, ref.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%s is another object of the same name by now; it was not deleted", ref.Name)
	}
	return explain(err)
}

// SetMetadata implements [runner.Objects].
func (c *Client) SetMetadata(ctx context.Context, ref inspect.Ref, change runner.MetadataChange) error {
	requests, err := c.of(ref)
	if err != nil {
		return err
	}
	metadata := map[string]any{"uid": ref.UID}
	if len(change.Labels) > 0 {
		metadata["labels"] = change.Labels
	}
	if len(change.Annotations) > 0 {
		metadata["annotations"] = change.Annotations
	}
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encode the change: %w", err)
	}
	_, err = requests.Patch(ctx, ref.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
	return explain(err)
}

// RemoveFinalizer implements [runner.Objects]. Other finalizers stay, also those that are added at the same time.
func (c *Client) RemoveFinalizer(ctx context.Context, ref inspect.Ref, finalizer string) error {
	requests, err := c.of(ref)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		o, err := requests.Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return explain(err)
		}
		if string(o.GetUID()) != ref.UID {
			return fmt.Errorf("%s was deleted; another object has its name", ref.Name)
		}
		before := o.GetFinalizers()
		rest := slices.DeleteFunc(slices.Clone(before), func(f string) bool { return f == finalizer })
		if len(rest) == len(before) {
			return fmt.Errorf("%s does not have the finalizer %s", ref.Name, finalizer)
		}
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": ref.UID, "resourceVersion": o.GetResourceVersion(), "finalizers": rest,
		}})
		if err != nil {
			return fmt.Errorf("encode the change: %w", err)
		}
		_, err = requests.Patch(ctx, ref.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: fieldManager})
		if apierrors.IsConflict(err) && attempt < maxConflicts {
			continue
		}
		return explain(err)
	}
}
