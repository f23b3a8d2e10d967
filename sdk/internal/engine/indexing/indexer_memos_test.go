package indexing

import (
	"bytes"
	"context"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
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
	x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
	x.Handle(enginetest.Pod(watch.Listed, "b", "1"))
	x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
	x.Stop()
	x.Start(t.Context(), x.Resource)
	x.Handle(enginetest.Pod(watch.Listed, "a", "3"))
	if n := x.memories.OnlyIndexed(); n != 2 {
		t.Errorf("%d objects are known before the listing has ended", n)
	}
	x.memories.RetainMemos(x.scope, map[queue.Key]bool{queue.KeyOf(enginetest.Pods.Key(), enginetest.Pod(watch.Listed, "a", "3").Object): true})
	if a := seen["a"]; a[0] == nil || a[0] != a[1] || a[0] != a[2] || a[0] == seen["b"][0] {
		t.Errorf("memos: %p", a)
	}
	if n := x.memories.OnlyIndexed(); n != 1 {
		t.Errorf("%d objects are known", n)
	}
	x.Handle(enginetest.Pod(watch.Deleted, "a", "4"))
	if n := x.memories.OnlyIndexed(); n != 0 {
		t.Errorf("%d objects are known of none", n)
	}
}
