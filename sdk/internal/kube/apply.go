package kube

import (
	"context"
	"net/http"
	"net/url"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ApplyPatch is the content type of server-side apply. JSON is YAML too.
const ApplyPatch = "application/apply-patch+yaml"

// ApplyRequest is a server-side apply of an object.
type ApplyRequest struct {
	Namespace, Name string
	Subresource     string // such as "status"; empty for the object itself
	Manager         string // field manager, which owns the applied fields
	Force           bool   // take the fields that other managers own
	Body            []byte // JSON of the applied fields, with apiVersion, kind and name

	DropManagedFields bool // return the object without its managedFields
}

// Apply creates or updates an object by a server-side apply. If other managers own some of the fields and the request is not
// forced, [Conflicts] returns these fields. See also [IsOtherUID] and [IsRemovedVersion]. It returns the applied object with
// managedFields, unless the request drops them.
func (c *Client) Apply(ctx context.Context, res *resources.Resource, a ApplyRequest) (*object.Object, error) {
	query := url.Values{"fieldManager": {a.Manager}}
	if a.Force {
		query.Set("force", "true")
	}
	r, err := about(http.MethodPatch, res, a.Namespace, a.Name, a.Subresource, query)
	if err != nil {
		return nil, err
	}
	r.ContentType, r.Body, r.keepManagedFields = ApplyPatch, a.Body, !a.DropManagedFields
	return c.object(ctx, &r)
}
