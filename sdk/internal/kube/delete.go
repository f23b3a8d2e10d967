package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// DeleteOptions restrict a deletion to one object, or to one version of it. An empty string stands for any.
type DeleteOptions struct {
	UID, ResourceVersion string

	Propagation metav1.DeletionPropagation // treatment of the dependents; defaults to Background
}

// Delete deletes an object. The object remains for as long as it has
// finalizers. [Classify] returns Conflict for an error if a precondition does not hold, and NotFound if there is no object, as
// after an attempt whose response was lost.
func (c *Client) Delete(ctx context.Context, res *resources.Resource, namespace, name string, o DeleteOptions) error {
	r, err := about(http.MethodDelete, res, namespace, name, "", nil)
	if err != nil {
		return err
	}
	policy := cmp.Or(o.Propagation, metav1.DeletePropagationBackground)
	options := metav1.DeleteOptions{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, PropagationPolicy: &policy,
	}
	if o.UID != "" || o.ResourceVersion != "" {
		options.Preconditions = new(metav1.Preconditions)
	}
	if o.UID != "" {
		uid := types.UID(o.UID)
		options.Preconditions.UID = &uid
	}
	if o.ResourceVersion != "" {
		options.Preconditions.ResourceVersion = &o.ResourceVersion
	}
	if r.Body, err = json.Marshal(options); err != nil {
		return fmt.Errorf("DELETE %s: %w", res, err)
	}
	r.ContentType = "application/json"
	return c.fetch(ctx, r, func(body []byte, _ http.Header) error {
		var answer metav1.TypeMeta // the object, or a status
		return json.Unmarshal(body, &answer)
	})
}
