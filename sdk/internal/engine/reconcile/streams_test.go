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

// lists is a family without children, whose queue records the versions of the parents that it processes.
type lists struct {
	*family
	processed []string
}

// testLists runs a test in a bubble of synctest.
func testLists(t *testing.T, test func(t *testing.T, l *lists)) {
	synctest.Test(t, func(t *testing.T) {
		d := &core.Deps{Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
		r := &Reconciler{deps: d, families: map[string]*family{}, streams: map[streamKey]*stream{}}
		l := &lists{family: newFamily(r, &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample"}, &handlers.Handler{})}
		r.families[l.resource.Key()] = l.family
		d.Queue = queue.New(t.Context(), queue.Options{Process: func(_ context.Context, b *queue.Batch) *queue.Next {
			l.processed = append(l.processed, b.Newest.Object.ResourceVersion)
			return nil
		}})
		test(t, l)
		if err := d.Queue.Stop(); err != nil {
			t.Error(err)
		}
	})
}

func (l *lists) version(version string, deleting bool) *core.Beginning {
	return &core.Beginning{
		Key:    queue.Key{Resource: l.resource.Key(), Object: "parent"},
		Object: &object.Object{UID: "parent", ResourceVersion: version, Deleting: deleting},
	}
}

// While an operator is paused, others may change a parent, so that a pass with the version from before would undo their work.
func TestStop_ParentHasNoPassBeforeItsNewestVersionArrives(t *testing.T) {
	testLists(t, func(t *testing.T, l *lists) {
		wake := func() {
			l.mu.Lock()
			l.wake(l.parents["parent"], reasons.Wake{Kind: inspect.WakeChild})
			l.mu.Unlock()
			l.requeueWaiting()
			synctest.Wait()
		}
		l.arrive(l.version("1", false))
		l.reconciler.Stop()
		if wake(); len(l.processed) > 0 {
			t.Errorf("after the stop, the versions %v are processed", l.processed)
		}
		l.arrive(l.version("2", false))
		if wake(); len(l.processed) == 0 || l.processed[0] != "2" {
			t.Errorf("after the arrival of version 2, the versions %v are processed", l.processed)
		}
	})
}

// While a deleted parent waits for the lists of its children, it has no event, so only the operator can continue.
func TestStop_DeletedParentContinuesAfterTheNextLists(t *testing.T) {
	testLists(t, func(t *testing.T, l *lists) {
		l.arrive(l.version("1", false))
		l.reconciler.Stop()
		s := &stream{source: &kind{family: l.family}} // not listed yet
		l.reconciler.streams[streamKey{parents: l.resource.Key()}] = s
		if _, err := l.reconciler.Delete(t.Context(), l.version("2", true)); err != nil {
			t.Error(err)
		}
		l.reconciler.listed(s, l.family)
		if synctest.Wait(); len(l.processed) != 1 || l.processed[0] != "2" {
			t.Errorf("after the list, the versions %v are processed, want 2", l.processed)
		}
	})
}
