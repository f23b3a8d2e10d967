package reconcile

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// While an operator is paused, others may change a parent, so that a pass with the version from before would undo their work.
func TestStop_ParentHasNoPassBeforeItsNewestVersionArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var processed []string
		d := &core.Deps{Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		d.Queue = queue.New(ctx, queue.Options{Process: func(_ context.Context, b *queue.Batch) *queue.Next {
			processed = append(processed, b.Newest.Object.ResourceVersion)
			return nil
		}})
		r := &Reconciler{deps: d, families: map[string]*family{}, streams: map[streamKey]*stream{}}
		parents := &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample"}
		f := newFamily(r, parents, &handlers.Handler{})
		r.families[parents.Key()] = f
		arrive := func(version string) {
			f.arrive(&core.Beginning{Object: &object.Object{UID: "parent", ResourceVersion: version}})
		}
		wake := func() {
			f.mu.Lock()
			f.wake(f.parents["parent"], reasons.Wake{Kind: inspect.WakeChild})
			f.mu.Unlock()
			f.requeueWaiting()
			synctest.Wait()
		}

		arrive("1")
		r.Stop()
		if wake(); len(processed) > 0 {
			t.Errorf("after the stop, the versions %v are processed", processed)
		}
		arrive("2")
		if wake(); len(processed) == 0 || processed[0] != "2" {
			t.Errorf("after the arrival of version 2, the versions %v are processed", processed)
		}
		if err := d.Queue.Stop(); err != nil {
			t.Error(err)
		}
	})
}

// While a deleted parent waits for the lists of its children, it has no event, so only the operator can continue.
func TestStop_DeletedParentContinuesAfterTheNextLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var processed []string
		d := &core.Deps{Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		d.Queue = queue.New(ctx, queue.Options{Process: func(_ context.Context, b *queue.Batch) *queue.Next {
			processed = append(processed, b.Newest.Object.ResourceVersion)
			return nil
		}})
		r := &Reconciler{deps: d, families: map[string]*family{}, streams: map[streamKey]*stream{}}
		parents := &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample"}
		f := newFamily(r, parents, &handlers.Handler{})
		r.families[parents.Key()] = f
		f.arrive(&core.Beginning{Object: &object.Object{UID: "parent", ResourceVersion: "1"}})
		r.Stop()

		s := &stream{source: &kind{family: f}} // not listed yet
		r.streams[streamKey{parents: parents.Key()}] = s
		_, err := r.Delete(ctx, &core.Beginning{
			Key: queue.Key{Resource: parents.Key(), Object: "parent"}, Object: &object.Object{UID: "parent", ResourceVersion: "2", Deleting: true},
		})
		if err != nil {
			t.Error(err)
		}
		r.listed(s, f)
		if synctest.Wait(); len(processed) != 1 || processed[0] != "2" {
			t.Errorf("after the list, the versions %v are processed, want 2", processed)
		}
		if err := d.Queue.Stop(); err != nil {
			t.Error(err)
		}
	})
}
