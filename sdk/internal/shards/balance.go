package shards

import (
	"slices"
	"sort"
)

// Moves are the steps of a replica towards an even number of shards per replica.
type Moves struct {
	Acquire []int // free shards to acquire
	Release []int // shards for others
}

// Balance returns the moves of one replica. The members are all present replicas; me counts as a member even if it is
// missing. The holders are indexed by shard; an empty holder means that the shard is free. A replica releases only
// shards beyond its share, so that few shards move.
//
// Replicas that decide at different moments may see different members and holders. Only leases keep two of
// them from holding a shard: Balance merely converges when the views do.
func Balance(me string, members, holders []string) Moves {
	all := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(members), me))))
	holds := map[string]int{}
	var mine, free []int
	for shard, holder := range holders {
		switch {
		case holder == "":
			free = append(free, shard)
		case holder == me:
			mine = append(mine, shard)
		}
		holds[holder]++
	}
	share := shareOf(me, all, holds, len(holders))
	if over := len(mine) - share; over > 0 {
		return Moves{Release: mine[share:]}
	}
	if len(free) == 0 {
		return Moves{}
	}
	// Replicas that look at the same moment begin with different shards.
	from := slices.Index(all, me) * len(free) / len(all)
	free = slices.Concat(free[from:], free[:from])
	return Moves{Acquire: free[:min(share-len(mine), len(free))]}
}

// shareOf returns how many shards a replica should hold. If the shards cannot be divided evenly, those who
// hold the most hold one more.
func shareOf(me string, members []string, holds map[string]int, shards int) int {
	order := slices.Sorted(slices.Values(members))
	sort.SliceStable(order, func(i, j int) bool { return holds[order[i]] > holds[order[j]] })
	share := shards / len(members)
	if slices.Index(order, me) < shards%len(members) {
		share++
	}
	return share
}
