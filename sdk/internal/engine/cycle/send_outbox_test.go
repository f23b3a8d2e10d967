package cycle

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/object"
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

func TestWriteHeld_NewerVersionHasItsOwnCycle(t *testing.T) {
	const ok, refused, down = 200, 413, 500
	for _, test := range []struct {
		version  string // resourceVersion in the cycle; the records make version 9
		statuses []int  // answers to the requests for the records and for the status
		ready    bool
		failed   bool
		dropped  bool // the changes end with a transformation that never succeeds
	}{
		{"1", []int{ok, ok}, false, false, false},
		{"1", []int{ok, refused}, false, false, false},
		{"1", []int{ok, down}, false, true, false},
		{"1", []int{down}, false, true, false},
		{"9", []int{ok, ok}, true, false, false}, // the records were stored before, and only the answer was lost
		{"9", []int{ok, refused}, true, false, false},
		{"9", []int{ok, down}, false, true, false},
		{"1", []int{ok, ok}, false, true, true},
		{"9", []int{ok, ok}, false, true, true},
	} {
		t.Run(fmt.Sprint(test.version, test.statuses, test.dropped), func(t *testing.T) {
			s := &patchServer{t: t, uid: "uid", statuses: test.statuses}
			c := newPatchCycle(t, s)
			c.object = object.Stub("v1", "Pod", "ns", "a", "uid", test.version)
			c.served.Resource.Subresources = []string{"status"}
			handlers := patch.NewPatch()
			handlers.Set(object.Path{"status", "result"}, "found")
			if test.dropped {
				handlers.AddFn(func(map[string]any) error { return errors.New("it never succeeds") })
			}
			c.memory.Outbox.Put(outbox.Writes{Handlers: handlers, Own: c.writes.Own, About: []string{"created"}, Since: time.Unix(1, 0)})
			handled := make(chan struct{})
			q := queue.New(t.Context(), queue.Options{Process: func(ctx context.Context, batch *queue.Batch) *queue.Next {
				defer close(handled)
				c.batch = batch
				ready, err := c.writeHeld(ctx)
				if failed := err != nil; ready != test.ready || failed != test.failed || (failed && !test.dropped) != (c.memory.Outbox.Held != nil) {
					t.Errorf("handlers may be called: %t, %v; held: %v", ready, err, c.memory.Outbox.Held)
				}
				return nil
			}})
			t.Cleanup(func() {
				if err := q.Stop(); err != nil {
					t.Error(err)
				}
			})
			q.Put("pods.v1", watch.Event{Type: watch.Modified, Object: c.object})
			<-handled
			if len(s.statuses) > 0 {
				t.Errorf("requests: %v", s.requests)
			}
		})
	}
}
