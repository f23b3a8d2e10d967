package kube

import (
	"context"
	"net/http"
)

// OpenAPI returns the OpenAPI v3 document of a version of an API group. Servers before Kubernetes 1.27 may not publish
// it.
func (c *Client) OpenAPI(ctx context.Context, group, version string) ([]byte, error) {
	path := "/openapi/v3/api/" + version
	if group != "" {
		path = "/openapi/v3/apis/" + group + "/" + version
	}
	return c.Do(ctx, Request{Method: http.MethodGet, Path: path, anyAnswer: true})
}
