package engine

import (
	"bytes"
	"context"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestTheMemoOfAnObjectThatIsOnlyIndexedGoesWithIt(t *testing.T) {
	seen := map[string][]any{}
	x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: func(_ context.Context, call *handlers.Call) (any, error) {
		seen[call.Cause.Object.Name] = append(seen[call.Cause.Object.Name], call.Memo)
		return nil, nil
	}})
	x.handle(pod(watch.Listed, "a", "1"))
	x.handle(pod(watch.Listed, "b", "1"))
	x.handle(pod(watch.Modified, "a", "2"))
	x.end()
	x.begin(t.Context(), x.server)
	x.handle(pod(watch.Listed, "a", "3"))
	if n := x.memories.onlyIndexed(); n != 2 {
		t.Errorf("%d objects are known before the listing has ended", n)
	}
	x.memories.retainMemos(x.origin, map[queue.Key]bool{queue.KeyOf(pods.Key(), pod(watch.Listed, "a", "3").Object): true})
	if a := seen["a"]; a[0] == nil || a[0] != a[1] || a[0] != a[2] || a[0] == seen["b"][0] {
		t.Errorf("memos: %p", a)
	}
	if n := x.memories.onlyIndexed(); n != 1 {
		t.Errorf("%d objects are known", n)
	}
	x.handle(pod(watch.Deleted, "a", "4"))
	if n := x.memories.onlyIndexed(); n != 0 {
		t.Errorf("%d objects are known of none", n)
	}
}

func TestTheMemoOfAnObjectStaysWhenItIsNoLongerOnlyIndexed(t *testing.T) {
	for _, served := range []string{"", "ns"} { // the cluster, or a namespace
		all, fresh := &memories{}, func() any { return new([3]uintptr) }
		origin := index.Origin{Resource: "a", Namespace: served}
		memo := all.memo(origin, "1", fresh)
		elsewhere := all.memo(index.Origin{Resource: "a", Namespace: "other"}, "1", fresh)
		m := all.recall(queue.Key{Resource: "a", Object: "1"}, "ns", true, fresh)
		if m.memo != memo || memo == elsewhere {
			t.Errorf("served in %q: it has another memo", served)
		}
		if n := all.onlyIndexed(); n != 1 {
			t.Errorf("served in %q: %d objects are only indexed", served, n)
		}
		if other := all.recall(queue.Key{Resource: "a", Object: "2"}, "ns", true, fresh); other.memo == nil || other.memo == memo {
			t.Errorf("served in %q: another object has no memo of its own", served)
		}
	}
}
