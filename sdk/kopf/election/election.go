// Package election has the interface by which the replicas of an operator elect the one that handles the objects. The
// module sdk/leaderelection implements it.
package election

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
)

// Elector elects one of the replicas of an operator. The module sdk/leaderelection has one.
type Elector interface {
	// Elect takes part in elections until the context ends. It returns an error only if it cannot begin, which
	// stops the operator.
	Elect(ctx context.Context, election *Election) error
}

// Election describes the election to an [Elector]. Its functions must not be called concurrently.
type Election struct {
	Config    *rest.Config // follows the operator's logins
	Name      string       // name of the lease
	Namespace string       // namespace of the lease
	Identity  string       // name of this replica in the lease

	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	Logger *slog.Logger

	// Renewed sets until when this replica may act: RenewDeadline after a request was sent that made it hold the
	// lease. The Elector calls it after each such request that has succeeded, first before Lead, with the time right before
	// the request was sent. After that time, no handler is called and nothing is written, even if the process was frozen
	// meanwhile. It returns false if the deadline before has passed: the Elector must call Follow, and may then call Lead.
	// An Elector that never calls it has no deadline: a frozen leader acts on until Follow is called.
	Renewed func(sent time.Time) bool

	// Lead makes this replica handle the objects. The Elector calls it when the replica is elected.
	Lead func()

	// Follow makes this replica stand by. The Elector calls it when the replica is no longer the leader, and
	// whenever it learns of another leader; the leader is empty if there is none. Follow blocks until the
	// handlers that run have ended; their contexts end at once.
	Follow func(leader string)

	// MayRelease reports, once the context has ended, whether the operator no longer handles anything. Otherwise
	// the Elector must leave the lease until it expires.
	MayRelease func() bool
}
