package queue

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestCatchUp_CountsObjectsOfListings(t *testing.T) {
	first := true
	var shown atomic.Value
	shown.Store(CatchUp{})
	bubble(t, Options{WorkerLimit: 1, Progress: func(c CatchUp) { shown.Store(c) }, Process: func(_ context.Context, b *Batch) *Next {
		time.Sleep(time.Second)
		switch {
		case b.Key.Object == "0" && first:
			first = false
			return &Next{} // its handling continues
		case b.Key.Object == "1":
			return &Next{After: time.Hour} // its handling waits
		}
		return nil
	}}, func(t *testing.T, q *Queue) {
		check := func(when string, want CatchUp) {
			t.Helper()
			synctest.Wait()
			if got := q.Stats().CatchUp; got != want || shown.Load() != want {
				t.Errorf("%s: %+v, shown as %+v, instead of %+v", when, got, shown.Load(), want)
			}
		}
		gate := new(Gate)
		for i := range 4 {
			q.Put("pods", event(watch.Listed, fmt.Sprint(i), "1"))
		}
		q.PutBehind(gate, "pods", event(watch.Listed, "held", "1"))
		q.PutBehind(gate, "pods", event(watch.Listed, "held", "1"))
		check("at the start", CatchUp{0, 5})
		time.Sleep(1500 * time.Millisecond)
		check("while one object continues", CatchUp{0, 5})
		time.Sleep(time.Second)
		check("when one object waits for a retry", CatchUp{1, 5})
		q.Put("pods", event(watch.Added, "new", "1"))
		q.Drop(func(k Key) bool { return k.Object == "3" })
		check("without a dropped object", CatchUp{1, 4})
		time.Sleep(time.Minute)
		check("while the gate is closed", CatchUp{3, 4})
		q.Open(gate)
		time.Sleep(time.Minute)
		check("at the end", CatchUp{})
		q.Put("pods", event(watch.Listed, "again", "1"))
		check("of the next listing", CatchUp{0, 1})
		time.Sleep(2 * time.Hour)
		check("at the end of the next listing", CatchUp{})
	})
}
