package cycle

import (
	"context"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestWriteHeld_GoneObjectHasNoHandlersCalledAgain(t *testing.T) {
	s := &patchServer{t: t, uid: "uid"}
	c := newPatchCycle(t, s)
	deleted := make(chan struct{})
	var q *queue.Queue
	q = queue.New(t.Context(), queue.Options{Process: func(ctx context.Context, batch *queue.Batch) *queue.Next {
		if batch.Newest.Type == watch.Deleted {
			defer close(deleted)
		} else {
			q.Put("pods.v1", watch.Event{Type: watch.Deleted, Object: c.object})
		}
		c.batch = batch
		c.memory.Outbox.Put(outbox.Writes{Handlers: patch.NewPatch(), Own: c.writes.Own, About: []string{"deleted"}, Since: time.Unix(1, 0)})
		ready, err := c.writeHeld(ctx)
		if last := batch.Newest.Type == watch.Deleted; ready != last || err != nil || c.memory.Outbox.Held != nil {
			t.Errorf("at %s, handlers may be called: %t, %v; held: %v", batch.Newest.Type, ready, err, c.memory.Outbox.Held)
		}
		return nil
	}})
	t.Cleanup(func() {
		if err := q.Stop(); err != nil {
			t.Error(err)
		}
	})
	q.Put("pods.v1", watch.Event{Type: watch.Modified, Object: c.object})
	<-deleted
	if len(s.requests) > 0 {
		t.Errorf("requests: %v", s.requests)
	}
}
