package webhook

import (
	"context"
	"net/http"
)

// Listener brings the reviews of the cluster to the operator. [Server] is one; others can be tunnels.
type Listener interface {
	// Serve passes requests on to the handler until the context ends, with their paths as the cluster has
	// sent them. It calls announce as soon as it can be reached, and again whenever its address changes. If it returns
	// before the context ends, the operator stops.
	Serve(ctx context.Context, reviews http.Handler, announce func(ClientConfig)) error
}

var _ Listener = (*Server)(nil)
