package kube

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// MergePatch is the content type of merge patches.
const MergePatch = patch.MergeType

// about returns a request for objects of a resource.
func about(method string, res *resources.Resource, namespace, name, subresource string, query url.Values) (Request, error) {
	path, err := res.Path(namespace, name, subresource, query)
	if err != nil {
		return Request{}, fmt.Errorf("%s %s: %w", method, res, err)
	}
	return Request{Method: method, Path: path, Resource: res, name: name, subresource: subresource}, nil
}

// verb returns the API's verb of the request. It is "get" for all that is not an object,
// such as the documents of the discovery.
func (r *Request) verb() string {
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method != http.MethodGet:
		return strings.ToLower(r.Method)
	case r.stream:
		return "watch"
	case r.Resource != nil && r.name == "":
		return "list"
	}
	return "get"
}

// Get fetches one object.
func (c *Client) Get(ctx context.Context, res *resources.Resource, namespace, name string) (*object.Object, error) {
	r, err := about(http.MethodGet, res, namespace, name, "", nil)
	if err != nil {
		return nil, err
	}
	return c.object(ctx, r)
}

// Post creates an object from its JSON.
func (c *Client) Post(ctx context.Context, res *resources.Resource, namespace string, body []byte) (*object.Object, error) {
	r, err := about(http.MethodPost, res, namespace, "", "", nil)
	if err != nil {
		return nil, err
	}
	r.ContentType, r.Body = "application/json", body
	return c.object(ctx, r)
}

// Patch applies a patch to an object, or to a subresource of it such as "status". The content
// type is [patch.MergeType] or [patch.JSONType]. It returns the patched object.
func (c *Client) Patch(ctx context.Context, res *resources.Resource, namespace, name, subresource, contentType string, body []byte) (*object.Object, error) {
	r, err := about(http.MethodPatch, res, namespace, name, subresource, nil)
	if err != nil {
		return nil, err
	}
	r.ContentType, r.Body = contentType, body
	return c.object(ctx, r)
}

// bodies are buffers for responses, whose content is copied when it is parsed.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func (c *Client) object(ctx context.Context, r Request) (*object.Object, error) {
	body := bodies.Get().(*bytes.Buffer)
	defer func() {
		if body.Cap() <= keptBuffer {
			bodies.Put(body)
		}
	}()
	err := c.retry(ctx, r, func() error {
		return c.receive(ctx, r, func(resp *http.Response) error {
			body.Reset()
			_, err := body.ReadFrom(resp.Body)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	object, err := object.Parse(body.Bytes(), object.ParseOptions{APIVersion: r.Resource.APIVersion(), Kind: r.Resource.Kind})
	if err != nil {
		return nil, fmt.Errorf("%s %s: response: %w", r.Method, r.Path, err)
	}
	return object, nil
}
