package objects

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Sample implements [runner.Objects]. The new object has the labels and the spec of the existing one. It has none of its
// annotations: most of them are records of programs about the other object.
func (c *Client) Sample(ctx context.Context, ref inspect.Ref, hidden [][]string) (*runner.Draft, error) {
	draft, err := c.Draft(ctx, ref, hidden)
	if err != nil {
		return nil, err
	}
	metadata := map[string]any{"name": ref.Name + "-copy"}
	if ref.Namespace != "" {
		metadata["namespace"] = ref.Namespace
	}
	if labels := at(draft.Base, []string{"metadata", "labels"}); labels != nil {
		metadata["labels"] = labels
	}
	base := merged(draft.Base, map[string]any{"metadata": nil})
	base["metadata"] = metadata
	s, err := text(base)
	return &runner.Draft{Object: ref, New: true, Text: s, Base: base, Hidden: hidden}, err
}

// create creates the object of a tree, and returns its name.
func (c *Client) create(ctx context.Context, draft *runner.Draft, tree map[string]any) ([]string, error) {
	if at := markIn(tree, nil); at != nil {
		return nil, &runner.RefusedTextError{Reason: name(at) + " has a hidden value of the other object; enter one, or remove the field"}
	}
	where := draft.Object
	if namespace, ok := at(tree, []string{"metadata", "namespace"}).(string); ok && where.Namespace != "" {
		where.Namespace = namespace
	}
	requests, err := c.of(where)
	if err != nil {
		return nil, err
	}
	made, err := requests.Create(ctx, &unstructured.Unstructured{Object: tree}, metav1.CreateOptions{
		FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict,
	})
	if err == nil {
		return []string{made.GetName()}, nil
	}
	refused := withoutSecrets(explain(err), tree, draft.Hidden)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsAlreadyExists(err) {
		return nil, &runner.RefusedTextError{Reason: refused.Error()}
	}
	return nil, refused
}
