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

// Elector is election.Elector of package sdk/kopf/election, for the engine.
type Elector interface {
	Elect(ctx context.Context, election Election) error
}

// Election is election.Election of package sdk/kopf/election, which documents the functions.
type Election struct {
	Config                    *rest.Config
	Namespace, Name, Identity string // namespace and name of the lease; identity of this replica
	Times                     leases.Times
	Logger                    *slog.Logger
	Renewed                   func(sent time.Time) (inTime bool)
	Lead                      func()
	Follow                    func(leader string)
	MayRelease                func() bool
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
