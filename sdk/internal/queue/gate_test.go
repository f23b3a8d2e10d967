package queue

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func noting(j *journal) Processor {
	return func(_ context.Context, b *Batch) *Next {
		j.add(b.Key.Object + " " + strings.Join(versions(b), ","))
		return nil
	}
}

func TestGate_ObjectsWaitUntilOpened(t *testing.T) {
	j := &journal{}
	bubble(t, Options{Process: noting(j), WorkerLimit: 1}, func(t *testing.T, q *Queue) {
		gate := new(Gate)
		for _, uid := range []string{"a", "b", "c"} {
			q.PutBehind(gate, "pods", event(watch.Listed, uid, "1"))
		}
		q.PutBehind(gate, "pods", event(watch.Modified, "b", "2"))
		q.Put("pods", event(watch.Listed, "free", "1"))
		synctest.Wait()
		j.check(t, "free 1")
		q.Open(gate)
		synctest.Wait()
		j.check(t, "free 1", "b 2", "a 1", "c 1")
		q.PutBehind(gate, "pods", event(watch.Modified, "a", "2"))
		synctest.Wait()
		j.check(t, "free 1", "b 2", "a 1", "c 1", "a 2")
		if n := q.remembered(); n != 0 {
			t.Errorf("%d objects are remembered", n)
		}
	})
}

func TestGate_HoldsObjectThatIsBeingProcessed(t *testing.T) {
	j := &journal{}
	bubble(t, Options{Process: func(ctx context.Context, b *Batch) *Next {
		next := noting(j)(ctx, b)
		time.Sleep(time.Second)
		return next
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event(watch.Listed, "a", "1"))
		synctest.Wait()
		gate := new(Gate)
		q.PutBehind(gate, "pods", event(watch.Modified, "a", "2"))
		time.Sleep(time.Minute)
		j.check(t, "a 1")
		q.Open(gate)
		synctest.Wait()
		j.check(t, "a 1", "a 2")
	})
}

func TestGate_DropsScheduledNext(t *testing.T) {
	j := &journal{}
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		j.add(strings.Join(versions(b), ","))
		return &Next{After: time.Minute}
	}}, func(t *testing.T, q *Queue) {
		q.Put("pods", event(watch.Listed, "a", "1"))
		synctest.Wait()
		gate := new(Gate)
		q.PutBehind(gate, "pods", event(watch.Modified, "a", "2"))
		time.Sleep(time.Hour)
		synctest.Wait()
		j.check(t, "1")
		q.Open(gate)
		synctest.Wait()
		j.check(t, "1", "2")
	})
}

func TestGate_DroppedObjectsAreNotProcessed(t *testing.T) {
	j := &journal{}
	bubble(t, Options{Process: noting(j)}, func(t *testing.T, q *Queue) {
		gate := new(Gate)
		q.PutBehind(gate, "pods", event(watch.Listed, "a", "1"))
		q.PutBehind(gate, "pods", event(watch.Listed, "b", "1"))
		q.Drop(func(key Key) bool { return key.Object == "a" })
		q.Open(gate)
		synctest.Wait()
		j.check(t, "b 1")
	})
}

func TestGate_OpenedAfterStopProcessesNothing(t *testing.T) {
	j := &journal{}
	synctest.Test(t, func(t *testing.T) {
		q := New(t.Context(), Options{Process: noting(j)})
		gate := new(Gate)
		q.PutBehind(gate, "pods", event(watch.Listed, "a", "1"))
		if err := q.Stop(); err != nil {
			t.Error(err)
		}
		q.Open(gate)
		synctest.Wait()
	})
	j.check(t)
}
