package shards

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestDivision_AgreesWithKubernetes(t *testing.T) {
	objects := 200
	if testing.Short() {
		objects = 20
	}
	for _, n := range []int{1, 2, 3, 7, 16, 100, 1000} {
		for _, key := range []Key{ByUID, ByNamespace} {
			d := Division{Shards: n, Key: key}
			var ranges []sharding.Selector
			for shard := range n {
				ranges = append(ranges, sharding.NewSelector(sharding.ShardRangeRequirement{
					Key: "object.metadata." + string(key), Start: d.start(shard), End: d.start(shard + 1),
				}))
			}
			for range objects {
				uid, namespace := rand.Text(), strings.ToLower(rand.Text()[:5])
				mine := d.Of(&object.Object{UID: uid, Namespace: namespace})
				for shard, selector := range ranges {
					matches, err := selector.Matches(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Namespace: namespace}})
					if err != nil {
						t.Fatal(err)
					}
					if matches != (shard == mine) {
						t.Fatalf("%d by %s: %s %s is in shard %d, but matches shard %d is %t", n, key, uid, namespace, mine, shard, matches)
					}
				}
			}
		}
	}
}

func TestDivision_SpreadsUIDsEvenly(t *testing.T) {
	const objects, n = 20_000, 16
	d, counts := Division{Shards: n, Key: ByUID}, map[int]int{}
	for i := range objects {
		counts[d.Of(&object.Object{UID: fmt.Sprintf("%08x-5717-4562-b3fc-%012x", uint32(i)*2654435761, i)})]++
	}
	for shard := range n {
		if share := float64(counts[shard]) * n / objects; share < 0.85 || share > 1.15 {
			t.Errorf("shard %d has %.2f of an even share", shard, share)
		}
	}
}

func TestDivision_SelectorJoinsAdjacentRanges(t *testing.T) {
	d := Division{Shards: 4, Key: ByUID}
	for _, test := range []struct {
		held Set
		want string
	}{
		{NewSet(0, 1, 2, 3), ""},
		{NewSet(0), "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000')"},
		{NewSet(2, 1), "shardRange(object.metadata.uid, '0x4000000000000000', '0xc000000000000000')"},
		{NewSet(0, 3), "shardRange(object.metadata.uid, '0x0000000000000000', '0x4000000000000000') || shardRange(object.metadata.uid, '0xc000000000000000', '0x10000000000000000')"},
	} {
		if got := d.Selector(test.held); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.held, got, test.want)
		}
	}
}
