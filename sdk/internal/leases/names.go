package leases

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// Labels of the leases of replicas that share objects.
const (
	nameLabel     = "kopf.dev/shards"   // the name that the replicas have in common
	divisionLabel = "kopf.dev/division" // the division that the holder uses
	shardLabel    = "kopf.dev/shard"    // the number of the shard; absent from the leases of replicas
)

// MaxNameLength limits the name that replicas have in common, so that the names of all leases are valid.
const MaxNameLength = 50

// division returns the value of the label of a division.
func divisionValue(d shards.Division) string { return strconv.Itoa(d.Shards) + "-" + string(d.Key) }

func shardName(name string, shard int) string { return fmt.Sprintf("%s-%d", name, shard) }

// replicaName returns the name of the lease that marks a replica as present.
func replicaName(name, identity string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(identity)) // a hash never fails to write
	return fmt.Sprintf("%s-replica-%08x", name, h.Sum32())
}

// shardOf returns the shard that a lease is for; false for the lease of a replica.
func shardOf(lease Lease) (int, bool) {
	shard, err := strconv.Atoi(lease.Labels[shardLabel])
	return shard, err == nil && shard >= 0
}
