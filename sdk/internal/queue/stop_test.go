package queue

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueue_SurvivesGoexitOfProcessor(t *testing.T) {
	var log journal
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		log.add(b.Key.Object)
		if b.Key.Object == "a" {
			runtime.Goexit()
		}
		return nil
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event("ADDED", "a", "1"))
		synctest.Wait()
		q.Put("pods", event("ADDED", "b", "1"))
		synctest.Wait()
		log.check(t, "a", "b")
	})
}

func TestStop_FinishesProcessingAndDropsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, cancelled atomic.Int32
		q := New(t.Context(), Options{WorkerLimit: 1, Process: func(ctx context.Context, _ *Batch) *Next {
			calls.Add(1)
			select {
			case <-ctx.Done():
				cancelled.Add(1)
			case <-time.After(time.Second):
			}
			return &Next{After: time.Second}
		}})
		q.Put("pods", event("", "a", "1"))
		q.Put("pods", event("", "b", "1"))
		synctest.Wait()
		begin := time.Now()
		if err := q.Stop(); err != nil {
			t.Error(err)
		}
		q.Put("pods", event("", "c", "1"))
		if calls.Load() != 1 || cancelled.Load() != 0 || time.Since(begin) != time.Second {
			t.Errorf("%d calls, %d cancelled, %s", calls.Load(), cancelled.Load(), time.Since(begin))
		}
	})
}

func TestStop_CancelsSlowProcessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(t.Context(), Options{Process: func(ctx context.Context, _ *Batch) *Next {
			<-ctx.Done()
			return nil
		}})
		q.Put("pods", event("", "a", "1"))
		synctest.Wait()
		begin := time.Now()
		if err := q.Stop(); err != nil || time.Since(begin) != DefaultExitTimeout {
			t.Error(err, time.Since(begin))
		}
	})
}

func TestStop_ReturnsAbandonedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wg sync.WaitGroup
		q := New(t.Context(), Options{ExitTimeout: -1, Process: func(context.Context, *Batch) *Next {
			defer wg.Done()
			time.Sleep(time.Hour)
			return nil
		}})
		wg.Add(1)
		q.Put("pods", event("", "a", "1"))
		synctest.Wait()
		abandoned, ok := errors.AsType[*AbandonedError](q.Stop())
		if !ok || !slices.Equal(abandoned.Keys, []Key{{"pods", "a"}}) {
			t.Error(abandoned)
		}
		wg.Wait()
	})
}
