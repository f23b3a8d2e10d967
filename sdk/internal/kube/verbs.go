package kube

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// verb returns the API verb of the request. It is "get" for paths without objects, such as discovery documents.
func (r *Request) verb() string {
	switch {
	case r.Method == http.MethodPost:
		return "create"
	case r.Method == http.MethodPut:
		return "update"
	case r.Method == http.MethodPatch:
		return "patch"
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
	return c.object(ctx, &r)
}

// Post creates an object from its JSON.
func (c *Client) Post(ctx context.Context, res *resources.Resource, namespace string, body []byte) (*object.Object, error) {
	r, err := about(http.MethodPost, res, namespace, "", "", nil)
	if err != nil {
		return nil, err
	}
	r.ContentType, r.Body = "application/json", body
	return c.object(ctx, &r)
}

// CheckCreate makes the API server check a new object without creating it. [Classify] returns Conflict for the error if the
// object is valid but its name is taken.
func (c *Client) CheckCreate(ctx context.Context, res *resources.Resource, namespace string, body []byte) error {
	r, err := about(http.MethodPost, res, namespace, "", "", url.Values{"dryRun": {metav1.DryRunAll}})
	if err != nil {
		return err
	}
	r.ContentType, r.Body = "application/json", body
	_, err = c.Do(ctx, r)
	return err
}

// Patch applies a patch to an object, or to a subresource of it such as "status". The content
// type is [patch.MergeType] or [patch.JSONType]. It returns the patched object.
func (c *Client) Patch(ctx context.Context, res *resources.Resource, namespace, name, subresource, contentType string, body []byte) (*object.Object, error) {
	patched, _, err := c.SendPatch(ctx, res, PatchRequest{
		Namespace: namespace, Name: name, Subresource: subresource, ContentType: contentType, Body: body,
	})
	return patched, err
}

// PatchRequest is a PATCH request of an object.
type PatchRequest struct {
	Namespace, Name string
	Subresource     string // such as "status"; empty for the object itself
	ContentType     string // [patch.MergeType] or [patch.JSONType]
	Body            []byte

	KeepManagedFields bool // return the object with its managedFields

	// Repeat returns the body of later attempts. Defaults to Body.
	Repeat func() ([]byte, error)
}

// SendPatch is [Client.Patch] that also reports whether the request was repeated. Then the server may have applied an
// earlier attempt whose response was lost.
func (c *Client) SendPatch(ctx context.Context, res *resources.Resource, p PatchRequest) (patched *object.Object, repeated bool, err error) {
	r, err := about(http.MethodPatch, res, p.Namespace, p.Name, p.Subresource, nil)
	if err != nil {
		return nil, false, err
	}
	r.ContentType, r.Body, r.repeat, r.keepManagedFields = p.ContentType, p.Body, p.Repeat, p.KeepManagedFields
	patched, err = c.object(ctx, &r)
	return patched, r.repeated, err
}

// bodies are reused buffers for responses. Parsing copies the content.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// object sends a request for an object.
func (c *Client) object(ctx context.Context, r *Request) (found *object.Object, err error) {
	body := bodies.Get().(*bytes.Buffer)
	defer func() {
		if body.Cap() <= keptBuffer {
			bodies.Put(body)
		}
	}()
	read := func(resp *http.Response) error {
		body.Reset()
		if _, err := body.ReadFrom(resp.Body); err != nil {
			return err
		}
		found, err = parseAnswer(r, body.Bytes())
		return err
	}
	first := true
	err = c.retry(ctx, r, func() (err error) {
		r.repeated, first = !first, false
		if r.repeated && r.repeat != nil {
			if r.Body, err = r.repeat(); err != nil {
				return err
			}
		}
		return c.receive(ctx, r, read)
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// parseAnswer parses the object in a response. Other content is a retriable error, because some proxies respond with 200
// and an HTML page.
func parseAnswer(r *Request, body []byte) (*object.Object, error) {
	o, err := object.Parse(body, object.ParseOptions{
		APIVersion: r.Resource.APIVersion(), Kind: r.Resource.Kind, KeepManagedFields: r.keepManagedFields,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("response: %w", err)
	case o.Name == "" || r.Method == http.MethodPatch && o.Name != r.name:
		return nil, fmt.Errorf("response: want %s %s, got an object named %q", r.Resource.Kind, r.name, o.Name)
	}
	return o, nil
}
