package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Preconditions restrict a deletion to one object, or to one version of it. An empty string stands for any.
type Preconditions struct {
	UID, ResourceVersion string
}

// Delete deletes an object; the garbage collector deletes its dependents afterwards. The object remains for as long as it has
// finalizers. [Classify] returns Conflict for an error if a precondition does not hold, and NotFound if there is no object, as
// after an attempt whose response was lost.
func (c *Client) Delete(ctx context.Context, res *resources.Resource, namespace, name string, p Preconditions) error {
	r, err := about(http.MethodDelete, res, namespace, name, "", nil)
	if err != nil {
		return err
	}
	policy := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, PropagationPolicy: &policy,
	}
	if p != (Preconditions{}) {
		options.Preconditions = new(metav1.Preconditions)
	}
	if p.UID != "" {
		uid := types.UID(p.UID)
		options.Preconditions.UID = &uid
	}
	if p.ResourceVersion != "" {
		options.Preconditions.ResourceVersion = &p.ResourceVersion
	}
	if r.Body, err = json.Marshal(options); err != nil {
		return fmt.Errorf("DELETE %s: %w", res, err)
	}
	r.ContentType = "application/json"
	_, err = c.Do(ctx, r)
	return err
}
