package shards

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// replicas play replicas that see each other's holdings at once.
type replicas struct {
	members []string
	holders []string
}

// round makes the moves of each replica, in a random order of replicas. It returns how many shards were released.
func (r *replicas) round(random *rand.Rand) (released int) {
	for _, i := range random.Perm(len(r.members)) {
		moves := Balance(r.members[i], r.members, r.holders)
		for _, shard := range moves.Release {
			r.holders[shard] = ""
			released++
		}
		for _, shard := range moves.Acquire {
			r.holders[shard] = r.members[i]
		}
	}
	return released
}

func (r *replicas) counts() map[string]int {
	counts := map[string]int{}
	for _, holder := range r.holders {
		counts[holder]++
	}
	return counts
}

func TestBalance_ConvergesToEvenShares(t *testing.T) {
	random, rounds := rand.New(rand.NewPCG(1, 2)), 300
	if testing.Short() {
		rounds = 50
	}
	for range rounds {
		r := &replicas{holders: make([]string, 1+random.IntN(40))}
		for step, next := 0, 0; step < 8; step++ {
			if len(r.members) == 0 || random.IntN(2) == 0 {
				r.members = append(r.members, fmt.Sprint("replica-", next))
				next++
			} else {
				gone := r.members[random.IntN(len(r.members))]
				r.members = slices.DeleteFunc(r.members, func(m string) bool { return m == gone })
				for shard, holder := range r.holders {
					if holder == gone {
						r.holders[shard] = ""
					}
				}
			}
			if len(r.members) == 0 {
				continue
			}
			released := 0
			for range 3 {
				released += r.round(random)
			}
			counts, share := r.counts(), len(r.holders)/len(r.members)
			for _, member := range r.members {
				if n := counts[member]; n < share || n > share+1 {
					t.Fatalf("%d shards, %d replicas: %v", len(r.holders), len(r.members), counts)
				}
			}
			if counts[""] > 0 {
				t.Fatalf("free shards: %v", counts)
			}
			if released > share+1 {
				t.Fatalf("%d shards have moved, where one replica came or went and a share is %d", released, share)
			}
		}
	}
}

func TestBalance_MoreReplicasThanShards(t *testing.T) {
	moves := Balance("c", []string{"a", "b", "c"}, []string{"a", "b"})
	if len(moves.Acquire)+len(moves.Release) > 0 {
		t.Errorf("a replica without a share moves something: %+v", moves)
	}
}

func TestBalance_StartingReplicasBeginWithDifferentShards(t *testing.T) {
	members, holders := []string{"a", "b", "c", "d"}, make([]string, 16)
	taken := map[int]string{}
	for _, member := range members {
		for _, shard := range Balance(member, members, holders).Acquire {
			if other, conflict := taken[shard]; conflict {
				t.Errorf("%s and %s both want shard %d", other, member, shard)
			}
			taken[shard] = member
		}
	}
	if len(taken) != len(holders) {
		t.Errorf("%d of %d shards are wanted", len(taken), len(holders))
	}
}
