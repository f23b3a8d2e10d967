package limits

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/slots"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestMain(m *testing.M) { testmain.Run(m, os.Exit) }

// operator has a queue and one handler whose calls are limited, without an API server.
type operator struct {
	limits  core.CallLimits
	queue   *queue.Queue
	handler *handlers.Handler
	took    time.Duration

	mu            sync.Mutex
	running, most int
	called        map[string]int
	workers       int // most workers at the same time
	working       int
	bodiless      int
	skips         map[string]bool // objects that need the handler no longer
}

func newOperator(limit *handlers.CallLimit, took time.Duration) *operator {
	o := &operator{handler: &handlers.Handler{ID: "create", CallLimit: limit}, took: took, called: map[string]int{}, skips: map[string]bool{}}
	o.queue = queue.New(context.Background(), queue.Options{Process: o.process})
	o.limits = New(&core.Deps{Queue: o.queue, Sink: &observe.Sink{}})
	return o
}

func (o *operator) process(_ context.Context, batch *queue.Batch) *queue.Next {
	o.count(func() { o.working++; o.workers = max(o.workers, o.working) })
	defer o.count(func() { o.working-- })
	o.limits.BeginCycle(batch.Key)
	defer o.limits.EndCycle(batch.Key)
	skipped := false
	o.count(func() {
		skipped = o.skips[batch.Key.Object]
		if batch.Bodiless {
			o.bodiless++
		}
	})
	if skipped || !o.limits.Reserve(batch.Key, o.handler, &observe.Subject{Object: batch.Newest.Object}) {
		return nil
	}
	end, ok := o.limits.Begin(batch.Key, o.handler)
	if !ok {
		return nil
	}
	defer end()
	var took time.Duration
	o.count(func() { o.running++; o.most = max(o.most, o.running); o.called[batch.Key.Object]++; took = o.took })
	time.Sleep(took)
	o.count(func() { o.running-- })
	return nil
}

func (o *operator) count(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
}

func (o *operator) put(uids ...string) {
	for _, uid := range uids {
		o.queue.Put("r", watch.Event{Type: watch.Added, Object: object.Stub("v1", "R", "ns", uid, uid, "1")})
	}
}

func uids(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("u", i))
	}
	return all
}

func TestLimits_ObjectsThatWaitHaveNoWorkerAndNoPlaceInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := 5000
		if testing.Short() {
			objects = 1000
		}
		o := newOperator(&handlers.CallLimit{Running: 2}, time.Hour)
		o.put(uids(objects)...)
		synctest.Wait()
		time.Sleep(time.Minute)
		synctest.Wait()
		if stats := o.queue.Stats(); stats.Running != 2 || stats.Ready != 0 || stats.Waiting != 0 {
			t.Errorf("the queue has %+v", stats)
		}
		o.count(func() { o.took = 10 * time.Millisecond })
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if o.most != 2 || len(o.called) != objects || o.running != 0 || o.bodiless != objects-2 {
			t.Errorf("at most %d calls at once, %d objects called, %d running, %d read again", o.most, len(o.called), o.running, o.bodiless)
		}
		if left := len(o.limits.(*Limits).objects); left != 0 {
			t.Errorf("%d objects are remembered", left)
		}
		_ = o.queue.Stop()
	})
}

func TestLimits_ObjectsThatNeedNoCallPassTheirSlotsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(&handlers.CallLimit{Running: 1}, time.Second)
		all := uids(100)
		o.put(all...)
		synctest.Wait()
		called := 0
		o.count(func() {
			for _, uid := range all {
				if o.called[uid] == 0 {
					o.skips[uid] = len(o.skips) < 50
				}
			}
			for _, skipped := range o.skips {
				if !skipped {
					called++
				}
			}
		})
		for _, uid := range all[60:80] { // forgotten while they wait
			if o.limits.Forget(queue.Key{Resource: "r", Object: uid}); !o.skips[uid] {
				called--
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(o.called) != called+1 || o.most != 1 {
			t.Errorf("%d objects called, want %d; at most %d at once", len(o.called), called+1, o.most)
		}
		_ = o.queue.Stop()
	})
}

// A pause drops the queue; afterwards, all objects are listed again.
func TestLimits_SurviveDroppedQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(&handlers.CallLimit{Running: 2}, 10*time.Millisecond)
		all := uids(200)
		for range 5 {
			o.put(all...)
			time.Sleep(25 * time.Millisecond)
			o.queue.Drop(func(queue.Key) bool { return true })
		}
		o.put(all...)
		time.Sleep(time.Hour)
		synctest.Wait()
		if o.most != 2 || len(o.called) != len(all) || o.running != 0 {
			t.Errorf("at most %d at once, %d called, %d running", o.most, len(o.called), o.running)
		}
		_ = o.queue.Stop()
	})
}

func TestLeaveAll_HoldsNothingDuringAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOperator(&handlers.CallLimit{Running: 3}, time.Minute)
		all := uids(100)
		o.put(all...)
		synctest.Wait() // three are called
		limits := o.limits.(*Limits)
		held := queue.Key{Resource: "r", Object: "held"}
		if turn := limits.table.NewTurn(o.handler.CallLimit, func() {}); turn.Reserve(true) {
			t.Fatal("there is a fourth slot")
		} else {
			time.Sleep(time.Minute + time.Second) // a slot for an object without another cycle, and two for the next objects
			turns := new(slots.Turns)
			turns.Of(o.handler, func() *slots.Turn { return turn })
			limits.mu.Lock()
			limits.objects[held] = turns
			limits.mu.Unlock()
		}
		remembered := func() int {
			limits.mu.Lock()
			defer limits.mu.Unlock()
			return len(limits.objects)
		}
		calls := func() (n int) {
			o.count(func() { n = len(o.called) })
			return n
		}
		if n := calls(); n != 5 {
			t.Fatalf("%d objects are called before the pause", n)
		}
		limits.LeaveAll()
		o.queue.Drop(func(queue.Key) bool { return true })
		if left := remembered(); left != 2 {
			t.Errorf("%d objects are remembered, besides the two whose calls are running", left-2)
		}
		free := limits.table.NewTurn(o.handler.CallLimit, func() {})
		if !free.Reserve(false) {
			t.Error("an object that is not called holds a slot")
		}
		free.Leave()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := calls(); n != 5 {
			t.Errorf("%d objects are called during the pause", n-5)
		}
		o.put(all...) // listed again
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := calls(); n != len(all) || o.most != 3 || remembered() != 0 {
			t.Errorf("%d objects are called, at most %d at once, %d are remembered", n, o.most, remembered())
		}
		_ = o.queue.Stop()
	})
}

func TestForget_DuringReserveLeavesNoSlotTaken(t *testing.T) {
	o := newOperator(&handlers.CallLimit{Running: 1}, 0)
	forgotten, other := queue.Key{Resource: "r", Object: "u"}, queue.Key{Resource: "r", Object: "other"}
	subject := &observe.Subject{Object: object.Stub("v1", "R", "ns", "u", "u", "1")}
	for range 20_000 {
		var wg sync.WaitGroup
		wg.Go(func() { o.limits.Forget(forgotten) })
		o.limits.Reserve(forgotten, o.handler, subject)
		wg.Wait()
		o.limits.Forget(forgotten)
		if !o.limits.Reserve(other, o.handler, subject) {
			t.Fatal("no slot is free, although no object has one")
		}
		o.limits.Forget(other)
	}
	if err := o.queue.Stop(); err != nil {
		t.Error(err)
	}
}
