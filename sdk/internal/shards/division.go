package shards

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Key is the field of objects that is hashed. Neither field can change.
type Key string

// The keys.
const (
	ByUID       Key = "uid"
	ByNamespace Key = "namespace" // all objects of a namespace are in one shard
)

// Division divides all objects into shards: ranges of the 64-bit FNV-1a hash of a field, as equal as
// possible. It is the hash of the API server's parameter shardSelector.
type Division struct {
	Shards int // number of shards, at least 1
	Key    Key
}

// Of returns the shard of an object.
func (d Division) Of(o *object.Object) int {
	if d.Key == ByNamespace {
		return d.ofValue(o.Namespace)
	}
	return d.ofValue(o.UID)
}

// ofValue returns the shard of a value of the field: the hash is in the range [start(i), start(i+1)).
func (d Division) ofValue(value string) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(value)) // a hash never fails to write
	shard, _ := bits.Mul64(h.Sum64(), uint64(d.Shards))
	return int(shard)
}

// Selector returns the value of the parameter shardSelector for some shards, of which there must be at least
// one. It is empty for all shards. Adjacent ranges are joined.
func (d Division) Selector(held Set) string {
	if held.Len() == d.Shards {
		return ""
	}
	var parts []string
	for first := 0; first < d.Shards; first++ {
		if !held.Has(first) {
			continue
		}
		last := first
		for last+1 < d.Shards && held.Has(last+1) {
			last++
		}
		parts = append(parts, fmt.Sprintf("shardRange(object.metadata.%s, '%s', '%s')", d.Key, d.start(first), d.start(last+1)))
		first = last
	}
	return strings.Join(parts, " || ")
}

// start returns the lowest hash of a shard: i·2⁶⁴/Shards, rounded up.
func (d Division) start(shard int) string {
	if shard == d.Shards {
		return "0x10000000000000000" // 2⁶⁴
	}
	quotient, remainder := bits.Div64(uint64(shard), 0, uint64(d.Shards))
	if remainder > 0 {
		quotient++
	}
	return fmt.Sprintf("0x%016x", quotient)
}
