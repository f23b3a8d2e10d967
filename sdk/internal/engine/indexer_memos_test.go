package engine

import (
	"bytes"
	"context"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestMemos_OfOnlyIndexedObjectsGoWithThem(t *testing.T) {
	seen := map[string][]any{}
	x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: func(_ context.Context, call *handlers.Call) (any, error) {
		seen[call.Cause.Object.Name] = append(seen[call.Cause.Object.Name], call.Memo)
		return nil, nil
	}})
	x.handle(pod(watch.Listed, "a", "1"))
	x.handle(pod(watch.Listed, "b", "1"))
	x.handle(pod(watch.Modified, "a", "2"))
	x.stop()
	x.start(t.Context(), x.resource)
	x.handle(pod(watch.Listed, "a", "3"))
	if n := x.memories.onlyIndexed(); n != 2 {
		t.Errorf("%d objects are known before the listing has ended", n)
	}
	x.memories.retainMemos(x.scope, map[queue.Key]bool{queue.KeyOf(pods.Key(), pod(watch.Listed, "a", "3").Object): true})
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
