package kube

import (
	"context"
	"net/http"
)

// OpenAPI returns the document of OpenAPI v3 that the API server publishes of a version of an API group.
// Servers before Kubernetes 1.27 may have none.
func (c *Client) OpenAPI(ctx context.Context, group, version string) ([]byte, error) {
	path := "/openapi/v3/api/" + version
	if group != "" {
		path = "/openapi/v3/apis/" + group + "/" + version
	}
	return c.Do(ctx, Request{Method: http.MethodGet, Path: path, anyAnswer: true})
}
