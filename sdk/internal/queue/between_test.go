package queue

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestBetween_AfterProcessingAndBeforeWhatIsQueued(t *testing.T) {
	var log journal
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		log.add("begin " + b.Newest.Object.ResourceVersion)
		time.Sleep(time.Second)
		log.add("end " + b.Newest.Object.ResourceVersion)
		return nil
	}}, func(t *testing.T, q *Queue) {
		first := event("ADDED", "a", "1")
		key := KeyOf("pods", first.Object)
		between := func(what string) {
			if !q.Between(key, func(context.Context) { log.add(what) }) {
				t.Error("the queue is stopped")
			}
		}
		between("of an unknown object")
		synctest.Wait()
		q.Put("pods", first)
		synctest.Wait()
		between("one")
		q.Put("pods", event("MODIFIED", "a", "2"))
		between("two")
		time.Sleep(time.Minute)
		between("three")
		synctest.Wait()
		log.check(t, "of an unknown object", "begin 1", "end 1", "one", "two", "begin 2", "end 2", "three")
		if n := q.remembered(); n != 0 {
			t.Errorf("%d objects are remembered", n)
		}
	})
}

func TestBetween_KeepsWhatIsScheduled(t *testing.T) {
	for _, running := range []bool{false, true} {
		t.Run(fmt.Sprint("running ", running), func(t *testing.T) {
			var log journal
			began := time.Now()
			first := true
			bubble(t, Options{Process: func(context.Context, *Batch) *Next {
				log.add("batch after " + time.Since(began).String())
				time.Sleep(time.Second)
				if !first {
					return nil
				}
				first = false
				return &Next{After: time.Hour}
			}}, func(t *testing.T, q *Queue) {
				began = time.Now()
				added := event("ADDED", "a", "1")
				q.Put("pods", added)
				synctest.Wait()
				if !running {
					time.Sleep(time.Minute)
				}
				q.Between(KeyOf("pods", added.Object), func(context.Context) { log.add("between") })
				time.Sleep(3 * time.Hour)
				log.check(t, "batch after 0s", "between", "batch after 1h0m1s")
			})
		})
	}
}

func TestBetween_DoesNotWaitForGates(t *testing.T) {
	var log journal
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		log.add("batch " + b.Newest.Object.ResourceVersion)
		return nil
	}}, func(t *testing.T, q *Queue) {
		var gate Gate
		held := event("ADDED", "a", "1")
		q.PutBehind(&gate, "pods", held)
		q.Between(KeyOf("pods", held.Object), func(context.Context) { log.add("between") })
		time.Sleep(time.Minute)
		log.check(t, "between")
		q.Open(&gate)
		time.Sleep(time.Minute)
		log.check(t, "between", "batch 1")
	})
}

func TestBetween_NotAfterStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(t.Context(), Options{Process: func(context.Context, *Batch) *Next { return nil }})
		if err := q.Stop(); err != nil {
			t.Fatal(err)
		}
		if q.Between(Key{"pods", "a"}, func(context.Context) { t.Error("called") }) {
			t.Error("it is queued")
		}
	})
}
