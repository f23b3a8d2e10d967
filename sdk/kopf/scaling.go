package kopf

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/leases"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
	"github.com/kopf-dev/kopf/sdk/kopf/election"
)

// ScalingSettings divide the work between operators, or between replicas of an operator. See [Scaling].
//
// [Scaling]: https://github.com/kopf-dev/kopf/blob/main/docs/scaling.md
type ScalingSettings struct {
	// LabelSelector restricts the operator to matching objects, such as "tier=gold". It does not apply to resources that
	// are only indexed. Defaults to all objects.
	LabelSelector string

	// Shards is the number of shards of the objects; the replicas of the operator divide the shards among themselves. All
	// replicas must have the same number and the same ShardByNamespace. Resources that are only indexed are not divided.
	// Shards requires LeaseName. Defaults to no shards: each replica handles all objects.
	Shards int

	// ShardByNamespace keeps the objects of a namespace in one shard. Defaults to false: the UID of an object decides,
	// which spreads the objects evenly.
	ShardByNamespace bool

	// LeaderElection makes one replica of the operator handle the objects, while the other replicas stand by. It requires
	// LeaseName and Elector, and cannot be combined with Shards. Defaults to false.
	LeaderElection bool

	// Elector elects the leader. Defaults to nil; leaderelection.Register of the module sdk/leaderelection sets it.
	Elector election.Elector

	// LeaseName is the name of the Lease that the replicas of the operator share; with Shards, it is the prefix of
	// their Leases. It must be unique in the LeaseNamespace, and have at most 50 lower case letters, digits and dashes.
	// Defaults to an empty name.
	LeaseName string

	// LeaseNamespace is the namespace of the leases. Defaults to the namespace of the credentials, such as the pod's.
	LeaseNamespace string

	// Identity identifies this replica in the leases. Defaults to the host's name with a random suffix, which changes
	// in each run.
	Identity string

	// LeaseDuration is how long a lease stays valid after its last renewal; then another replica may take it over. It
	// must be a whole number of seconds. Defaults to 15s.
	LeaseDuration time.Duration

	// RenewDeadline is how long a replica that cannot renew its lease continues to handle objects. Afterwards, running
	// handlers have the rest of the LeaseDuration to end. Defaults to 10s.
	RenewDeadline time.Duration

	// RetryPeriod is the interval between attempts to acquire or renew a lease. Defaults to 2s.
	RetryPeriod time.Duration
}

// elector adapts an [election.Elector] to the engine.
type elector struct{ election.Elector }

// Elect implements [engine.Elector].
func (e elector) Elect(ctx context.Context, of core.Election) error {
	return e.Elector.Elect(ctx, &election.Election{
		Config: of.Config, Name: of.Name, Namespace: of.Namespace, Identity: of.Identity,
		LeaseDuration: of.Times.Duration, RenewDeadline: of.Times.RenewDeadline, RetryPeriod: of.Times.RetryPeriod,
		Logger: of.Logger, Renewed: of.Renewed, Lead: of.Lead, Follow: of.Follow, MayRelease: of.MayRelease,
	})
}

// engine copies the settings to the engine's settings.
func (s ScalingSettings) engine(to *core.Settings) {
	to.Selection.Labels = s.LabelSelector
	if s.Shards != 0 {
		to.Selection.Division = shards.Division{Shards: s.Shards, Key: shards.ByUID}
		if s.ShardByNamespace {
			to.Selection.Division.Key = shards.ByNamespace
		}
	}
	to.Lease = core.Lease{
		Namespace: s.LeaseNamespace, Name: s.LeaseName, Identity: s.Identity,
		Times: leases.Times{Duration: s.LeaseDuration, RenewDeadline: s.RenewDeadline, RetryPeriod: s.RetryPeriod},
	}
	to.LeaderElection = s.LeaderElection
	if s.Elector != nil {
		to.Elector = elector{s.Elector}
	}
}
