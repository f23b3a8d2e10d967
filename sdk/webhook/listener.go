package webhook

import (
	"context"
	"net/http"
)

// Listener delivers the reviews of the cluster to the operator. [Server] implements it; other implementations can be
// tunnels.
type Listener interface {
	// Serve passes requests on to the handler until the context ends, with unchanged paths. It calls announce as soon as
	// the cluster can reach it, and again whenever its address changes. If Serve returns before the context ends, the
	// operator stops.
	Serve(ctx context.Context, reviews http.Handler, announce func(ClientConfig)) error
}

var _ Listener = (*Server)(nil)
