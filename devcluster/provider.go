package devcluster

import "context"

// provider is a place where clusters come from.
//
// A provider that needs a heavy library keeps it in an internal package of its own, and
// a file here that adapts it. What auto may choose from is the order in providers().
type provider interface {
	// name is what --cluster calls it.
	name() string
	// open sees to it that the chosen cluster is up, and hands it out. The choice is
	// made before, by choose.
	open(ctx context.Context, o Options, c choice) (*Cluster, error)
}

// manager is a provider whose clusters belong to kopf: those that kopf cluster manages.
type manager interface {
	provider
	list(ctx context.Context) ([]Info, error)
	start(ctx context.Context, name string, o Options) (Info, error)
	stop(ctx context.Context, name string) error
	remove(ctx context.Context, name string) error
}
