package kopf

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/leases"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// ScalingSettings configure operators that handle only some of the objects, and what several replicas of an
// operator do. See [Scaling].
//
// [Scaling]: https://github.com/kopf-dev/kopf/blob/main/docs/scaling.md
type ScalingSettings struct {
	// LabelSelector narrows the objects to those that the API server selects, such as "tier=gold". It applies to
	// all resources but those that are only indexed. Defaults to all objects.
	LabelSelector string

	// Shards is the number of shards into which the objects are divided among the replicas of the operator. All
	// replicas must have the same number and key. Resources that are only indexed are not divided. It needs
	// LeaseName. Defaults to no shards: each replica handles all objects.
	Shards int

	// ShardKey is the field whose hash decides about the shard of an object. Defaults to [ShardByUID].
	ShardKey ShardKey

	// LeaderElection lets one replica of the operator handle the objects; the others stand by. It needs
	// LeaseName and Elector, and excludes Shards. Defaults to false.
	LeaderElection bool

	// Elector elects the leader. Defaults to none; leaderelection.Register of the module sdk/leaderelection sets
	// one.
	Elector Elector

	// LeaseName is the name that all replicas of the operator have in common, and no other operator in the
	// LeaseNamespace: at most 50 lower case letters, digits and dashes. Defaults to none.
	LeaseName string

	// LeaseNamespace is the namespace of the leases. Defaults to that of the credentials, such as the pod's.
	LeaseNamespace string

	// Identity tells this replica from the others in the leases. Defaults to the host's name with a random
	// suffix, a new one in each run.
	Identity string

	// LeaseDuration is how long the others wait after the last sign of a replica before they take over what it
	// had: a whole number of seconds. Defaults to 15s.
	LeaseDuration time.Duration

	// RenewDeadline is how long a replica that cannot renew its lease goes on handling objects. The handlers that
	// run have the rest of the LeaseDuration to end. Defaults to 10s.
	RenewDeadline time.Duration

	// RetryPeriod is the time between two looks at the leases. Defaults to 2s.
	RetryPeriod time.Duration
}

// ShardKey is a field of objects.
type ShardKey string

// The keys of shards.
const (
	ShardByUID       ShardKey = "uid"       // spreads the objects evenly
	ShardByNamespace ShardKey = "namespace" // keeps the objects of a namespace together
)

// Elector elects one of the replicas of an operator. The module sdk/leaderelection has one.
type Elector interface {
	// Elect takes part in elections until the context ends. It returns an error only if it cannot begin, which
	// stops the operator.
	Elect(ctx context.Context, election *Election) error
}

// Election is what an [Elector] needs to know. Its functions must not be called concurrently.
type Election struct {
	Config    *rest.Config // follows the operator's logins
	Name      string       // of the lease
	Namespace string       // of the lease
	Identity  string       // of this replica

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

	// Follow makes this replica stand by. The Elector calls it when the replica is not the leader anymore, and
	// whenever it learns of another leader; the leader is empty if there is none. Follow blocks until the
	// handlers that run have ended; their contexts end at once.
	Follow func(leader string)

	// MayRelease reports, once the context has ended, whether the operator handles nothing anymore. Otherwise
	// the Elector must let the lease expire.
	MayRelease func() bool
}

// elector passes the elections of the engine on.
type elector struct{ Elector }

// Elect implements [engine.Elector].
func (e elector) Elect(ctx context.Context, election engine.Election) error {
	return e.Elector.Elect(ctx, &Election{
		Config: election.Config, Name: election.Name, Namespace: election.Namespace, Identity: election.Identity,
		LeaseDuration: election.Times.Duration, RenewDeadline: election.Times.RenewDeadline, RetryPeriod: election.Times.RetryPeriod,
		Logger: election.Logger, Renewed: election.Renewed, Lead: election.Lead, Follow: election.Follow, MayRelease: election.MayRelease,
	})
}

// engine adds the settings to those of the engine.
func (s ScalingSettings) engine(to *engine.Settings) {
	to.Selection.Labels = s.LabelSelector
	if s.Shards != 0 {
		to.Selection.Division = shards.Division{Shards: s.Shards, Key: shards.Key(s.ShardKey)}
	}
	to.Lease = engine.Lease{
		Namespace: s.LeaseNamespace, Name: s.LeaseName, Identity: s.Identity,
		Times: leases.Times{Duration: s.LeaseDuration, RenewDeadline: s.RenewDeadline, RetryPeriod: s.RetryPeriod},
	}
	to.LeaderElection = s.LeaderElection
	if s.Elector != nil {
		to.Elector = elector{s.Elector}
	}
}
