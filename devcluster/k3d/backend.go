package k3d

import (
	"context"
	"path/filepath"
	"time"

	"github.com/k3d-io/k3d/v5/pkg/runtimes"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/instance"
)

const (
	// probeTimeout bounds the check for an engine, if there is a choice of providers. An engine
	// that runs answers within milliseconds.
	probeTimeout = 1500 * time.Millisecond
	// engineTimeout bounds the first request to the engine otherwise.
	engineTimeout = 5 * time.Second
	// startTimeout bounds the start of a node, which usually takes 10 to 30 seconds.
	startTimeout = 4 * time.Minute
	// cleanupTimeout limits the deletion of a failed creation's leftovers.
	cleanupTimeout = time.Minute
)

// docker is the runtime of the k3d library. It connects to the engine in each call.
var docker = runtimes.Docker

// Backend manages k3d clusters. It implements [devcluster.Backend].
type Backend struct {
	root string // the directory of the records
}

var _ devcluster.Backend = (*Backend)(nil)

// New returns the backend. It calls log with each line that the library of k3d logs; log may be
// called from any goroutine, and may be nil. The library has one log for the whole process, so
// that New must be called only once.
func New(log func(line string)) (*Backend, error) {
	clusters, err := instance.Root()
	if err != nil {
		return nil, err
	}
	redirectLibrary(log)
	return &Backend{root: filepath.Join(filepath.Dir(clusters), "k3d")}, nil
}

// Probe implements [devcluster.Backend].
func (*Backend) Probe(ctx context.Context) error {
	e, err := connect(ctx, probeTimeout)
	if err != nil {
		return err
	}
	return e.close()
}

// clusterName returns the name of the cluster in k3d, which allows 32 characters. The prefix
// shows the users of k3d and Docker to whom it belongs.
func clusterName(name string) string {
	const prefix, maxLength = "kopf-", 32
	if len(prefix+name) <= maxLength {
		return prefix + name
	}
	hash := shortHash(name)
	return prefix + name[:maxLength-len(prefix)-len(hash)-1] + "-" + hash
}

// serverName returns the name of the container of the only node.
func serverName(name string) string { return "k3d-" + clusterName(name) + "-server-0" }

// networkName returns the name of the network.
func networkName(name string) string { return "k3d-" + clusterName(name) }

// contextName returns the name of the context in the kubeconfig, which is the one that k3d gives.
func contextName(name string) string { return "k3d-" + clusterName(name) }
