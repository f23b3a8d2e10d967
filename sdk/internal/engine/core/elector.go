package core

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/leases"
)

// Elector elects one of the replicas of an operator.
type Elector interface {
	// Elect takes part in elections until the context ends, and then releases what it holds. It returns an
	// error only if it cannot begin.
	Elect(ctx context.Context, election Election) error
}

// Election is what an elector needs to know.
type Election struct {
	Config                    *rest.Config
	Namespace, Name, Identity string // of the lease, and of this replica
	Times                     leases.Times
	Logger                    *slog.Logger

	// Renewed is called after each request that made this replica hold the lease, or renewed that, with the time before
	// it was sent. It returns false if the term is over, since the deadline before has passed.
	Renewed func(sent time.Time) bool

	// Lead is called when this replica was elected. It returns at once.
	Lead func()

	// MayRelease reports, after the end of the context, whether nothing is handled anymore: only then the lease
	// is released.
	MayRelease func() bool

	// Follow is called when this replica is not the leader, and again for each other leader. The leader is
	// empty if there is none. If this replica has led, Follow blocks until it handles nothing anymore.
	Follow func(leader string)
}

// ErrElection is wrapped by the error of an elector, with which the operator stops.
var ErrElection = errors.New("take part in the leader election")

// ErrElector is the error of an operator that elects a leader and has no elector.
var ErrElector = errors.New("take part in the leader election: this operator has no elector; call leaderelection.Register(r) where the handlers are registered, " +
	"and run: go get github.com/kopf-dev/kopf/sdk/leaderelection")
