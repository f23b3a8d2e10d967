package shards

import (
	"slices"
	"strconv"
	"strings"
)

// Set is an immutable set of shards. The zero value is empty.
type Set struct{ sorted []int }

// NewSet returns a set of the shards.
func NewSet(shards ...int) Set {
	return Set{slices.Compact(slices.Sorted(slices.Values(shards)))}
}

// Has reports whether a shard is in the set.
func (s Set) Has(shard int) bool {
	_, found := slices.BinarySearch(s.sorted, shard)
	return found
}

// Len returns the number of shards.
func (s Set) Len() int { return len(s.sorted) }

// All returns the shards in ascending order. The caller must not change them.
func (s Set) All() []int { return s.sorted }

// Equal reports whether the sets have the same shards.
func (s Set) Equal(other Set) bool { return slices.Equal(s.sorted, other.sorted) }

// String lists the shards, such as "0 3 4".
func (s Set) String() string {
	texts := make([]string, len(s.sorted))
	for i, shard := range s.sorted {
		texts[i] = strconv.Itoa(shard)
	}
	return strings.Join(texts, " ")
}
