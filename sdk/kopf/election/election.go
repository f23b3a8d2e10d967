// Package election has the interface by which the replicas of an operator elect the leader, which handles the objects. The
// module sdk/leaderelection implements it.
package election

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"
)

// Elector elects the leader among the replicas of an operator. The module sdk/leaderelection has an implementation.
type Elector interface {
	// Elect takes part in elections until the context ends. It returns an error only if it cannot start; the error stops
	// the operator.
	Elect(ctx context.Context, election *Election) error
}

// Election describes the election to an [Elector]. Its functions must not be called concurrently.
type Election struct {
	Config    *rest.Config // client configuration; its requests use the operator's current credentials
	Name      string       // name of the lease
	Namespace string       // namespace of the lease
	Identity  string       // name of this replica in the lease

	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	Logger *slog.Logger

	// Renewed sets the deadline of this replica to RenewDeadline after sent. After the deadline, the operator calls no
	// handler and writes nothing, even if the process was frozen in between. The Elector calls Renewed after each request
	// that acquired or renewed the lease, with the time right before the request; after acquiring the lease, it calls
	// Renewed before Lead. Renewed returns false if the previous deadline has already passed. Then the Elector must call
	// Follow, and may call Lead again. If an Elector never calls Renewed, there is no deadline, and a frozen leader acts
	// until Follow is called.
	Renewed func(sent time.Time) bool

	// Lead makes this replica handle the objects. The Elector calls it when the replica is elected.
	Lead func()

	// Follow makes this replica stand by. The Elector calls it when the replica stops being the leader, and when there is
	// a new leader. The argument leader is empty if no leader is known. Follow cancels the contexts of the running handlers
	// and blocks until the handlers have returned.
	Follow func(leader string)

	// MayRelease reports whether all handlers have returned. The Elector calls it after the context is done. If it returns
	// false, the Elector must not release the lease, so that the lease expires.
	MayRelease func() bool
}
