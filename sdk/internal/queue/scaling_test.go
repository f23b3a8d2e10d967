package queue

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

func TestWorkerLimit_IncludesSleepingWorkers(t *testing.T) {
	var now, most atomic.Int32
	bubble(t, Options{WorkerLimit: 3, Process: func(context.Context, *Batch) *Next {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(time.Second)
		now.Add(-1)
		return nil
	}}, func(t *testing.T, q *Queue) {
		for i := range 10 {
			q.Put("pods", event("", fmt.Sprint(i), "1"))
		}
		time.Sleep(time.Minute)
		if most.Load() != 3 || q.Stats() != (Stats{}) {
			t.Error(most.Load(), q.Stats())
		}
	})
}

func TestScaling_SleepingHandlersDoNotDelayOthers(t *testing.T) {
	const objects = 5000
	var started atomic.Int32
	bubble(t, Options{Process: func(context.Context, *Batch) *Next {
		started.Add(1)
		time.Sleep(time.Hour)
		return nil
	}}, func(t *testing.T, q *Queue) {
		for i := range objects {
			q.Put("pods", event("", fmt.Sprint(i), "1"))
		}
		time.Sleep(3 * time.Second)
		if got := started.Load(); got != objects {
			t.Errorf("%d of %d have begun", got, objects)
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestScaling_QuickHandlersShareFewWorkers(t *testing.T) {
	const objects = 5000
	var now, most, done atomic.Int32
	bubble(t, Options{Process: func(context.Context, *Batch) *Next {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(time.Millisecond)
		now.Add(-1)
		done.Add(1)
		return nil
	}}, func(t *testing.T, q *Queue) {
		for i := range objects {
			q.Put("pods", event("", fmt.Sprint(i), "1"))
		}
		time.Sleep(time.Minute)
		if done.Load() != objects || most.Load() > maxCounted {
			t.Errorf("%d done by %d workers", done.Load(), most.Load())
		}
	})
}

func TestScaling_FewSlowHandlersDoNotDelayQuickOnes(t *testing.T) {
	var done atomic.Int32
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		if b.Key.Resource == "slow" {
			time.Sleep(time.Hour)
			return nil
		}
		time.Sleep(time.Millisecond)
		done.Add(1)
		return nil
	}}, func(t *testing.T, q *Queue) {
		for i := range maxCounted * 2 {
			q.Put("slow", event("", fmt.Sprint(i), "1"))
		}
		q.Put("quick", event("", "q", "1"))
		time.Sleep(stuckAfter * 2)
		if done.Load() != 1 {
			t.Error("the quick one waits")
		}
		time.Sleep(2 * time.Hour)
	})
}

func TestScaling_BusyClusterGetsNoMoreRequests(t *testing.T) {
	for name, inRequest := range map[string]bool{"the engine's requests": true, "the handlers' own ones": false} {
		t.Run(name, func(t *testing.T) {
			// The cluster answers a hundred requests per second, however many arrive.
			const objects = 2000
			var cluster chan struct{}
			var now, most, done atomic.Int32
			bubble(t, Options{Process: func(ctx context.Context, _ *Batch) *Next {
				if inRequest {
					defer kube.BeginRequest(ctx)()
				}
				most.Store(max(most.Load(), now.Add(1)))
				cluster <- struct{}{}
				now.Add(-1)
				done.Add(1)
				return nil
			}}, func(t *testing.T, q *Queue) {
				cluster = make(chan struct{}) // within the bubble of virtual time
				for i := range objects {
					q.Put("pods", event("", fmt.Sprint(i), "1"))
				}
				for range objects {
					time.Sleep(10 * time.Millisecond)
					<-cluster
				}
				synctest.Wait()
				if done.Load() != objects || most.Load() > 2*maxCounted {
					t.Errorf("%d done by %d workers", done.Load(), most.Load())
				}
			})
		})
	}
}

func TestScaling_HangingRequestsDoNotDelayOthersForever(t *testing.T) {
	var done atomic.Int32
	bubble(t, Options{Process: func(ctx context.Context, b *Batch) *Next {
		if b.Key.Resource == "broken" {
			defer kube.BeginRequest(ctx)()
			time.Sleep(time.Hour)
		}
		done.Add(1)
		return nil
	}}, func(t *testing.T, q *Queue) {
		for i := range maxCounted {
			q.Put("broken", event("", fmt.Sprint(i), "1"))
		}
		q.Put("good", event("", "g", "1"))
		time.Sleep(slowRequest + tickInterval)
		if done.Load() != 1 {
			t.Error("it waits")
		}
		time.Sleep(2 * time.Hour)
	})
}
