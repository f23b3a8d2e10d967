package core

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/leases"
)

// Elector elects the leader among the replicas of an operator.
type Elector interface {
	// Elect takes part in elections until the context ends, and then releases the lease. It returns an error only if it cannot start.
	Elect(ctx context.Context, election Election) error
}

// Election is the configuration of an elector, and its callbacks.
type Election struct {
	Config                    *rest.Config
	Namespace, Name, Identity string // namespace and name of the lease; identity of this replica
	Times                     leases.Times
	Logger                    *slog.Logger

	// Renewed is called after each request that acquired or renewed the lease, with the time before the request was sent. It returns false if
	// the previous deadline has passed, which ends the term.
	Renewed func(sent time.Time) bool

	// Lead is called when this replica was elected. It does not block.
	Lead func()

	// MayRelease reports, after the context has ended, whether this replica has stopped handling objects; otherwise, the lease must be kept.
	MayRelease func() bool

	// Follow is called when this replica is not the leader, and whenever the leader changes. The leader is empty if there is none. If this
	// replica was the leader, Follow blocks until it has stopped handling objects.
	Follow func(leader string)
}

// ErrElection is wrapped by an elector's error, which stops the operator.
var ErrElection = errors.New("take part in the leader election")

// ErrElector is returned by an operator that uses leader election without an elector.
var ErrElector = errors.New("take part in the leader election: this operator has no elector; " +
	"call leaderelection.Register(r) where the handlers are registered, and run: go get github.com/kopf-dev/kopf/sdk/leaderelection")

// LeaseStats are the counters of one replica's leases for the metrics. They are safe for concurrent use.
type LeaseStats struct {
	Shards leases.Stats

	Leads   atomic.Bool
	Elected atomic.Int64 // number of times that this replica became the leader
	Lost    atomic.Int64 // number of times that this replica lost the lease
}
