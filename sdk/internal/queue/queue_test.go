package queue

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestMain(m *testing.M) { testmain.Run(m, os.Exit) }

func event(kind, uid, version string) watch.Event {
	return watch.Event{Type: kind, Object: object.Stub("v1", "Pod", "default", "n-"+uid, uid, version)}
}

func versions(b *Batch) (all []string) {
	for _, e := range b.Events {
		all = append(all, e.Object.ResourceVersion)
	}
	return all
}

// journal is what workers wrote down.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

func (j *journal) check(t *testing.T, want ...string) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.lines, want) {
		t.Errorf("%q instead of %q", j.lines, want)
	}
}

func (q *Queue) remembered() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries)
}

// bubble runs a test in virtual time with a queue, which is stopped at the end.
func bubble(t *testing.T, options Options, test func(t *testing.T, q *Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := New(t.Context(), options)
		test(t, q)
		if err := q.Stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestQueue_ProcessesObjectByOneWorkerAtATime(t *testing.T) {
	var now, most, calls atomic.Int32
	bubble(t, Options{Process: func(context.Context, *Batch) *Next {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(time.Second)
		now.Add(-1)
		calls.Add(1)
		return nil
	}}, func(t *testing.T, q *Queue) {
		for i := range 5 {
			q.Put("pods", event("", "a", fmt.Sprint(i)))
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if most.Load() != 1 || calls.Load() != 3 {
			t.Errorf("%d at a time, %d calls", most.Load(), calls.Load())
		}
		if left := q.remembered(); left != 0 {
			t.Errorf("%d objects are remembered for nothing", left)
		}
	})
}

func TestQueue_ProcessesObjectsInParallel(t *testing.T) {
	var done atomic.Int32
	bubble(t, Options{Process: func(context.Context, *Batch) *Next {
		time.Sleep(time.Second)
		done.Add(1)
		return nil
	}}, func(t *testing.T, q *Queue) {
		for i := range maxCounted {
			q.Put("pods", event("", fmt.Sprint(i), "1"))
		}
		q.Put("services", event("", "0", "1"))
		time.Sleep(1100 * time.Millisecond)
		if done.Load() != maxCounted+1 {
			t.Errorf("%d done", done.Load())
		}
	})
}

func TestQueue_KeepsSomeIdleWorkers(t *testing.T) {
	var done atomic.Int32
	bubble(t, Options{Process: func(context.Context, *Batch) *Next {
		time.Sleep(time.Second)
		done.Add(1)
		return nil
	}}, func(t *testing.T, q *Queue) {
		idle := func() []*worker {
			q.mu.Lock()
			defer q.mu.Unlock()
			return slices.Clone(q.idle)
		}
		for i := range maxCounted {
			q.Put("pods", event("", fmt.Sprint(i), "1"))
		}
		time.Sleep(2 * time.Second)
		kept := idle()
		if len(kept) != maxIdle || done.Load() != maxCounted {
			t.Fatalf("%d idle workers after %d objects", len(kept), done.Load())
		}
		q.Put("pods", event("", "a", "1"))
		q.Put("pods", event("", "b", "1"))
		synctest.Wait()
		if left := idle(); !slices.Equal(left, kept[:maxIdle-2]) {
			t.Errorf("%d idle workers while two objects are processed", len(left))
		}
		time.Sleep(2 * time.Second)
		if again := idle(); len(again) != maxIdle || done.Load() != maxCounted+2 {
			t.Errorf("%d idle workers after %d objects", len(again), done.Load())
		}
	})
}

func TestQueue_FoldsEventsIntoNewest(t *testing.T) {
	var seen journal
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		seen.add(fmt.Sprintf("%v %s%v listed=%v complete=%d",
			versions(b), b.Newest.Type, b.Newest.Object.ResourceVersion, b.Listed, b.Complete))
		time.Sleep(time.Second)
		return nil
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event("ADDED", "a", "1"))
		synctest.Wait()
		listed := event("", "a", "2")
		listed.Complete = 3
		q.Put("pods", listed)
		q.Put("pods", event("MODIFIED", "a", "3"))
		q.Put("pods", event("MODIFIED", "a", "4"))
		time.Sleep(2 * time.Second)
		q.Put("pods", event("MODIFIED", "a", "5"))
		time.Sleep(time.Minute)
		seen.check(t, "[1] ADDED1 listed=false complete=0", "[4] MODIFIED4 listed=true complete=3",
			"[5] MODIFIED5 listed=false complete=0")
	})
}

func TestQueue_KeepsAllEventsInOrderIfAsked(t *testing.T) {
	var seen journal
	bubble(t, Options{
		KeepEvents: func(resource string) bool { return resource == "pods" },
		Process: func(_ context.Context, b *Batch) *Next {
			seen.add(fmt.Sprint(b.Key.Resource, versions(b)))
			time.Sleep(time.Second)
			return nil
		},
	}, func(t *testing.T, q *Queue) {
		for _, resource := range []string{"pods", "services"} {
			for i := range 4 {
				q.Put(resource, event("MODIFIED", "a", fmt.Sprint(i)))
				synctest.Wait()
			}
			time.Sleep(time.Minute)
		}
		seen.check(t, "pods[0]", "pods[1 2 3]", "services[0]", "services[3]")
	})
}

func TestQueue_DropsChangesWithoutWork(t *testing.T) {
	var seen journal
	var asked []string
	var busy chan struct{} // made in the bubble
	bubble(t, Options{
		KeepEvents: func(resource string) bool { return resource == "pods" },
		Settled: func(key Key, version string) bool {
			asked = append(asked, key.Resource+version)
			return version == "2"
		},
		Process: func(_ context.Context, b *Batch) *Next {
			seen.add(fmt.Sprint(b.Key.Resource, versions(b)))
			if b.Newest.Type == "ADDED" && b.Key.Object == "b" {
				<-busy
			}
			return nil
		},
	}, func(t *testing.T, q *Queue) {
		busy = make(chan struct{})
		put := func(resource string, one watch.Event) {
			q.Put(resource, one)
			synctest.Wait()
		}
		for _, resource := range []string{"pods", "services"} { // all events of the pods are kept
			for _, one := range []watch.Event{event("ADDED", "a", "1"), event("MODIFIED", "a", "2"), event("", "a", "2"), event("DELETED", "a", "2")} {
				put(resource, one)
			}
		}
		put("services", event("ADDED", "b", "1"))
		put("services", event("MODIFIED", "b", "2")) // a worker processes the object
		close(busy)
		synctest.Wait()
		put("services", event("MODIFIED", "b", "3"))
		seen.check(t, "pods[1]", "pods[2]", "pods[2]", "pods[2]", "services[1]", "services[2]", "services[2]", "services[1]", "services[2]", "services[3]")
		if !slices.Equal(asked, []string{"services2", "services3"}) {
			t.Errorf("asked for %v", asked)
		}
	})
}

func TestDrop_ObjectsAreNotProcessed(t *testing.T) {
	var calls atomic.Int32
	bubble(t, Options{WorkerLimit: 1, Process: func(context.Context, *Batch) *Next {
		calls.Add(1)
		time.Sleep(time.Second)
		return &Next{After: time.Minute}
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event("", "waits", "1"))
		time.Sleep(2 * time.Second)
		q.Put("pods", event("", "runs", "1"))
		q.Put("pods", event("", "queued", "1"))
		synctest.Wait()
		q.Drop(func(k Key) bool { return k.Object != "runs" })
		time.Sleep(30 * time.Second)
		if calls.Load() != 2 {
			t.Error(calls.Load())
		}
	})
}

func TestKey_ObjectsWithoutUIDDifferByName(t *testing.T) {
	one := object.Stub("v1", "Pod", "ns1", "n", "", "1")
	two := object.Stub("v1", "Pod", "ns2", "n", "", "1")
	if KeyOf("pods", one) == KeyOf("pods", two) {
		t.Error("equal keys")
	}
}
