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
	Config    *rest.Config // client configuration; after another login of the operator, requests use the new credentials
	Name      string       // name of the lease
	Namespace string       // namespace of the lease
	Identity  string       // name of this replica in the lease

	LeaseDuration, RenewDeadline, RetryPeriod time.Duration

	Logger *slog.Logger

	// Renewed extends the time until which this replica may act, to RenewDeadline after sent. The Elector calls it
	// after each successful request that acquired or renewed the lease, with the time right before that request, and
	// the first time before Lead. After that time, the operator calls no handler and writes nothing, even if the
	// process was frozen in between. Renewed returns false if the earlier deadline has passed: the Elector must then
	// call Follow, and may call Lead again. Without any call, there is no deadline, and a frozen leader acts until
	// Follow is called.
	Renewed func(sent time.Time) bool

	// Lead makes this replica handle the objects. The Elector calls it when the replica is elected.
	Lead func()

	// Follow makes this replica stand by. The Elector calls it when the replica stops being the leader, and when it
	// learns of a new leader; leader is empty if there is none. Follow cancels the contexts of the running handlers
	// and blocks until they have returned.
	Follow func(leader string)

	// MayRelease reports whether all handlers have returned. Call it after the context is done; if it returns false,
	// do not release the lease but wait until it expires.
	MayRelease func() bool
}
