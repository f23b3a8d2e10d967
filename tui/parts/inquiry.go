package parts

import (
	"context"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Operator answers inquiries about data that is too large or too frequent to be a part of the state, and has the connection to the
// cluster of the operator.
type Operator interface {
	// Index returns a page of an index: at most limit entries that match the search, after offset matching entries.
	Index(ctx context.Context, id, search string, offset, limit int) (*inspect.IndexPage, error)

	// Requests returns the operator's own requests to the API server.
	Requests(ctx context.Context) (*inspect.Requests, error)

	// Children returns the children of an object. The error is an [*inspect.UnsupportedError] if the operator's release does not
	// serve them.
	Children(ctx context.Context, parent inspect.Ref) (*inspect.ChildList, error)

	// Objects returns the access to single objects of the cluster; nil without a connection.
	Objects() runner.Objects
}

// Inquiry sends a request to the operator in the background. It returns the function that handles the response, which the app
// calls.
type Inquiry func(context.Context, Operator) (take func())
