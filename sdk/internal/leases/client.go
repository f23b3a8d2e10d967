package leases

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// resource is the resource of leases.
var resource = &resources.Resource{
	Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Kind: "Lease", Singular: "lease", Namespaced: true,
}

// Client reads and writes the leases of a namespace. It does not retry. It is safe for concurrent use.
type Client struct {
	kube      *kube.Client
	namespace string
}

// NewClient returns a client of the leases in a namespace.
func NewClient(client *kube.Client, namespace string) *Client {
	return &Client{kube: client.WithoutRetries(), namespace: namespace}
}

// List returns the newest version of all leases with the labels of a selector.
func (c *Client) List(ctx context.Context, labelSelector string) ([]Lease, error) {
	list, err := c.kube.List(ctx, resource, c.namespace, kube.ListOptions{LabelSelector: labelSelector})
	if err != nil {
		return nil, err
	}
	all := make([]Lease, 0, len(list.Items))
	for _, item := range list.Items {
		lease, err := decode(item.Raw)
		if err != nil {
			return nil, err
		}
		all = append(all, lease)
	}
	return all, nil
}

// Write creates a lease that has no version, or else replaces that version of it. The error is a conflict if
// another replica was faster.
func (c *Client) Write(ctx context.Context, lease Lease) (Lease, error) {
	method, name := http.MethodPut, lease.Name
	if lease.Version == "" {
		method, name = http.MethodPost, ""
	}
	path, err := resource.Path(c.namespace, name, "", nil)
	if err != nil {
		return Lease{}, err
	}
	body, err := lease.encode(c.namespace)
	if err != nil {
		return Lease{}, fmt.Errorf("write lease: %w", err)
	}
	answer, err := c.kube.Do(ctx, kube.Request{Method: method, Path: path, ContentType: "application/json", Body: body, Resource: resource})
	if err != nil {
		return Lease{}, err
	}
	return decode(answer)
}

// Delete deletes a lease, unless it has changed.
func (c *Client) Delete(ctx context.Context, lease Lease) error {
	path, err := resource.Path(c.namespace, lease.Name, "", nil)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"preconditions": map[string]string{"resourceVersion": lease.Version}})
	if err != nil {
		return fmt.Errorf("delete lease: %w", err)
	}
	_, err = c.kube.Do(ctx, kube.Request{Method: http.MethodDelete, Path: path, ContentType: "application/json", Body: body, Resource: resource})
	return err
}
