package kube

import (
	"context"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// The Accept headers of requests for metadata. Plain JSON follows, as some aggregated API servers know nothing else.
const (
	acceptsMetadata     = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
	acceptsMetadataList = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
)

// GetMetadata fetches type and metadata of one object, with managedFields. Servers that cannot do that send the whole object. The
// error about an object that does not exist has no other details.
func (c *Client) GetMetadata(ctx context.Context, res *resources.Resource, namespace, name string) (*object.Object, error) {
	r, err := about(http.MethodGet, res, namespace, name, "", nil)
	if err != nil {
		return nil, err
	}
	r.Accept, r.keepManagedFields, r.mayBeAbsent = acceptsMetadata, true, true
	return c.object(ctx, &r)
}
