package devcluster

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// Backend manages the clusters of the provider K3d. The package devcluster/k3d implements it;
// only programs that link that package bear the weight of Docker's libraries. Its methods may be
// called concurrently.
type Backend interface {
	// Probe reports whether a cluster can be created now. It returns within a second or two; the
	// error is [ErrNoEngine].
	Probe(ctx context.Context) error
	// List returns the clusters that kopf has created, in any order. Without any, it does not
	// look for a Docker engine. If the engine does not answer, they are Unreachable.
	List(ctx context.Context) ([]Info, error)
	// Sweep deletes what interrupted commands have left, as far as the engine answers.
	Sweep(ctx context.Context) error
	// Create creates a cluster and waits until it is usable. If it fails, nothing of the cluster
	// is left. The error is [ErrExists] if the engine has a cluster or a container of this name
	// that kopf has not created, and [ErrInUse] if kopf has created one meanwhile.
	Create(ctx context.Context, name, project string, o Options) (Info, error)
	// Start starts a cluster unless it is running, and waits until it is usable. In any case, it repairs damage from
	// a restart of the engine. The error is [ErrNotFound] if the cluster was deleted.
	Start(ctx context.Context, name string, o Options) (Info, error)
	// Stop stops a cluster and keeps its data.
	Stop(ctx context.Context, name string) error
	// Delete deletes a cluster with its data.
	Delete(ctx context.Context, name string) error
	// ImportImages copies images from the engine, or from archives, to the nodes of a cluster.
	ImportImages(ctx context.Context, name string, images []string, o Options) error
}

// k3d is the backend of the provider K3d, or nil.
var k3d Backend

// Use sets the backend of the provider [K3d]. It must be called before any other function of
// this package.
func Use(b Backend) { k3d = b }

// probeK3d reports whether a new cluster can be one of K3d. Both results are empty if this
// program has no backend, so that there is nothing to choose from.
func probeK3d(ctx context.Context) (available bool, reason string) {
	if k3d == nil {
		return false, ""
	}
	if err := k3d.Probe(ctx); err != nil {
		return false, "no Docker engine can be used"
	}
	return true, "a Docker engine answers"
}

// wantK3d returns the backend, or an error if this program has none.
func wantK3d() (Backend, error) {
	if k3d == nil {
		return nil, &fault.Error{Kind: ErrInvalid, Message: fmt.Sprintf("this program has no provider %s", K3d), Next: "use the provider embedded"}
	}
	return k3d, nil
}
