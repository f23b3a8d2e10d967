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
	Manager         string // field manager, which owns the applied fields
	Force           bool   // take the fields that other managers own
	Body            []byte // JSON of the applied fields, with apiVersion, kind and name
}

// ApplyAnswer is the response to a server-side apply.
type ApplyAnswer struct {
	Object   *object.Object // applied object with managedFields; nil after an error
	Created  bool           // the last attempt created the object
	Repeated bool           // the server may have applied an earlier attempt, whose response was lost
}

// Apply creates or updates an object by a server-side apply. If other managers own some of the fields and the request is not
// forced, [Conflicts] returns these fields. See also [IsOtherUID] and [IsRemovedVersion]. If Apply returns an error, only
// [ApplyAnswer].Repeated is set.
func (c *Client) Apply(ctx context.Context, res *resources.Resource, a ApplyRequest) (ApplyAnswer, error) {
	query := url.Values{"fieldManager": {a.Manager}}
	if a.Force {
		query.Set("force", "true")
	}
	r, err := about(http.MethodPatch, res, a.Namespace, a.Name, "", query)
	if err != nil {
		return ApplyAnswer{}, err
	}
	r.ContentType, r.Body, r.keepManagedFields = ApplyPatch, a.Body, true
	applied, err := c.object(ctx, &r)
	return ApplyAnswer{Object: applied, Created: err == nil && r.status == http.StatusCreated, Repeated: r.repeated}, err
}
