package queue

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// model is a slow ready list: one slice of entries in the order in which they came.
type model struct {
	entries []*entry
	turn    int
	slotted bool
}

func (m *model) of(c Class, slot bool) (of []*entry) {
	for _, e := range m.entries {
		if e.class == c && (e.slot && c == Due) == slot {
			of = append(of, e)
		}
	}
	return of
}

func (m *model) pop(now time.Duration, listing bool) *entry {
	due := [2][]*entry{m.of(Due, true), m.of(Due, false)}
	if m.slotted {
		due[0], due[1] = due[1], due[0]
	}
	usable := slices.Concat(m.of(Live, false), due[0], due[1])
	if listing {
		usable = append(usable, m.of(Listing, false)...)
	}
	if len(usable) == 0 {
		return nil
	}
	e, turn := usable[0], turns[m.turn%len(turns)]
	if turn == overdue {
		late := slices.DeleteFunc(slices.Concat(m.of(Due, true), m.of(Due, false), m.of(Listing, false)), func(e *entry) bool {
			return now-e.since <= overdueAfter || e.class == Listing && !listing
		})
		if len(late) > 0 {
			e = slices.MinFunc(late, func(a, b *entry) int { return cmp.Compare(a.since, b.since) })
		}
	} else if i := slices.IndexFunc(usable, func(e *entry) bool { return e.class == turn }); i >= 0 {
		e = usable[i]
	}
	m.turn++
	if e.class == Due {
		m.slotted = e.slot
	}
	m.entries = slices.DeleteFunc(m.entries, func(x *entry) bool { return x == e })
	return e
}

func FuzzReadyList_LikeTheModel(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		steps := make([]byte, 400)
		for i := range steps {
			steps[i] = byte(random.Uint32())
		}
		f.Add(steps)
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		var list readyList
		var want model
		var now time.Duration
		for i, step := range steps {
			now += time.Duration(step>>6) * 10 * time.Second
			arg := int(step>>3) & 7
			switch op := step & 7; {
			case op <= 2:
				e := &entry{class: Class(op)}
				list.push(e, now)
				want.entries = append(want.entries, e)
			case op == 3: // a slot of a limit
				e := &entry{class: Due, slot: true}
				list.push(e, now)
				want.entries = append(want.entries, e)
			case op == 4 && arg < len(want.entries): // an event makes an object live
				e := want.entries[arg]
				list.remove(e)
				e.class = Live
				list.push(e, now)
				want.entries = append(slices.Delete(want.entries, arg, arg+1), e)
			case op == 5 && arg < len(want.entries):
				list.remove(want.entries[arg])
				want.entries = slices.Delete(want.entries, arg, arg+1)
			case op >= 6:
				if got, want := list.pop(now, arg > 0), want.pop(now, arg > 0); got != want {
					t.Fatalf("step %d: popped %+v, want %+v", i, got, want)
				}
			}
			for c := Live; c < nothing; c++ {
				list.lines[c].check(t, i, want.of(c, false))
			}
			list.slots.check(t, i, want.of(Due, true))
			if list.len != len(want.entries) {
				t.Fatalf("step %d: %d entries, want %d", i, list.len, len(want.entries))
			}
		}
	})
}

// check checks that a line has the entries in both directions.
func (l *line) check(t *testing.T, step int, want []*entry) {
	t.Helper()
	var forth, back []*entry
	for e := l.head; e != nil; e = e.next {
		forth = append(forth, e)
	}
	for e := l.tail; e != nil; e = e.prev {
		back = append(back, e)
	}
	slices.Reverse(back)
	if !slices.Equal(forth, want) || !slices.Equal(forth, back) || l.len != len(forth) {
		t.Fatalf("step %d: the line of %d entries differs from the model", step, l.len)
	}
}

// taken returns the number of each class among the next objects that are taken, while objects of the classes never run out.
func taken(list *readyList, n int, now time.Duration, classes ...Class) (of [nothing]int) {
	for range n {
		for _, c := range classes {
			list.push(&entry{class: c}, now)
		}
		of[list.pop(now, true).class]++
	}
	return of
}

func TestReadyList_Shares(t *testing.T) {
	for name, tt := range map[string]struct {
		classes []Class
		want    [nothing]int
	}{
		"all":              {[]Class{Live, Due, Listing}, [nothing]int{12, 3, 1}},
		"no live objects":  {[]Class{Due, Listing}, [nothing]int{0, 15, 1}},
		"no retries":       {[]Class{Live, Listing}, [nothing]int{15, 0, 1}},
		"no listing":       {[]Class{Live, Due}, [nothing]int{13, 3, 0}},
		"nothing but live": {[]Class{Live}, [nothing]int{16, 0, 0}},
		"only a listing":   {[]Class{Listing}, [nothing]int{0, 0, 16}},
	} {
		var list readyList
		for start := range turns { // any 16 consecutive turns
			if got := taken(&list, len(turns), 0, tt.classes...); got != tt.want {
				t.Errorf("%s: of 16 objects, %v were taken from the classes instead of %v", name, got, tt.want)
			}
			list = readyList{turn: start}
		}
	}
}

func TestReadyList_OverdueObjectsGetHalfOfTheTurnsOfLiveOnes(t *testing.T) {
	var list readyList
	for range 100 {
		list.push(&entry{class: Listing}, 0)
	}
	if got := taken(&list, 160, overdueAfter, Live); got != [nothing]int{150, 0, 10} {
		t.Errorf("%v were taken from the classes before the time", got)
	}
	if got := taken(&list, 160, overdueAfter+1, Live); got != [nothing]int{90, 0, 70} {
		t.Errorf("%v were taken from the classes when the listing was overdue", got)
	}
}

func TestReadyList_SlotsDelayNoRetry(t *testing.T) {
	var list readyList
	list.push(&entry{class: Due, key: Key{Object: "retry"}}, 0)
	for turn := range 3 {
		list.push(&entry{class: Due, slot: true}, time.Duration(turn)) // the end of each call hands its slot to the next object
		if e := list.pop(time.Duration(turn), true); (e.key.Object == "retry") != (turn == 1) {
			t.Errorf("turn %d: %q", turn, e.key.Object)
		}
	}
}

func TestEntry_TakesNoMoreMemory(t *testing.T) {
	const before = 208
	if size := unsafe.Sizeof(entry{}); size > before+8 {
		t.Errorf("an entry takes %d bytes", size)
	}
}

// slowly notes the keys of objects, which take a second each.
func slowly(log *journal) Processor {
	return func(_ context.Context, b *Batch) *Next {
		log.add(b.Key.Object)
		time.Sleep(time.Second)
		return nil
	}
}

func TestClass_LiveObjectsOvertakeAListing(t *testing.T) {
	var log journal
	bubble(t, Options{WorkerLimit: 1, Process: slowly(&log)}, func(t *testing.T, q *Queue) {
		for i := range 5 {
			q.Put("pods", event(watch.Listed, fmt.Sprint("listed", i), "1"))
		}
		synctest.Wait()
		q.Put("pods", event(watch.Added, "new", "1"))
		q.Again(Due, "pods", event(watch.Modified, "due", "1"))
		q.Put("pods", event(watch.Modified, "listed4", "2")) // moves up
		deleting := event(watch.Listed, "deleting", "1")
		deleting.Object.Deleting = true
		q.Put("pods", deleting)
		q.Recall("pods", event("", "slot", "1").Object)
		time.Sleep(time.Minute)
		log.check(t, "listed0", "new", "listed4", "slot", "due", "deleting", "listed1", "listed2", "listed3")
	})
}

func TestClass_ListingIsHandledDespiteEndlessLiveObjects(t *testing.T) {
	const objects = 50
	var listed, live atomic.Int32
	var q *Queue
	bubble(t, Options{WorkerLimit: 1, Process: func(_ context.Context, b *Batch) *Next {
		time.Sleep(time.Millisecond)
		if strings.HasPrefix(b.Key.Object, "listed") {
			listed.Add(1)
			return nil
		}
		if listed.Load() < objects {
			n := live.Add(1)
			for i := range 2 { // twice as much as the worker can do
				q.Put("pods", event(watch.Modified, fmt.Sprint("live", n, "-", i), fmt.Sprint(n)))
			}
		}
		return nil
	}}, func(t *testing.T, made *Queue) {
		q = made
		for i := range objects {
			q.Put("pods", event(watch.Listed, fmt.Sprint("listed", i), "1"))
		}
		q.Put("pods", event(watch.Added, "live", "1"))
		time.Sleep(time.Hour)
		if listed.Load() != objects || live.Load() < 10*objects || live.Load() > 15*objects {
			t.Errorf("%d of the listing were handled, while %d live objects were", listed.Load(), live.Load())
		}
	})
}

func TestClass_RetryIsNotDelayedByAListing(t *testing.T) {
	var log journal
	first := true
	bubble(t, Options{WorkerLimit: 1, Process: func(ctx context.Context, b *Batch) *Next {
		slowly(&log)(ctx, b)
		if first {
			first = false
			return &Next{After: 2500 * time.Millisecond}
		}
		return nil
	}}, func(t *testing.T, q *Queue) {
		for i := range 6 {
			q.Put("pods", event(watch.Listed, fmt.Sprint(i), "1"))
		}
		time.Sleep(time.Minute)
		log.check(t, "0", "1", "2", "3", "0", "4", "5")
	})
}

func TestClass_OwnWritesDoNotMoveUp(t *testing.T) {
	for name, early := range map[string]bool{"event before the answer": true, "event after the answer": false} {
		t.Run(name, func(t *testing.T) {
			var log journal
			var q *Queue
			bubble(t, Options{WorkerLimit: 1, Process: func(ctx context.Context, b *Batch) *Next {
				if b.Key.Object == "own" && !b.Requeued {
					b.Newest = event(watch.Modified, "own", "2")
					if early {
						q.Put("pods", b.Newest)
					}
					slowly(&log)(ctx, b)
					return &Next{}
				}
				if b.Key.Object == "first" && !early {
					q.Put("pods", event(watch.Modified, "own", "2"))
				}
				return slowly(&log)(ctx, b)
			}}, func(t *testing.T, made *Queue) {
				q = made
				for _, uid := range []string{"own", "first", "second", "changed"} {
					q.Put("pods", event(watch.Listed, uid, "1"))
				}
				time.Sleep(1500 * time.Millisecond) // first is handled
				q.Put("pods", event(watch.Modified, "changed", "2"))
				time.Sleep(time.Minute)
				log.check(t, "own", "first", "changed", "second", "own")
			})
		})
	}
}

func TestScaling_ListingLeavesWorkersForLiveObjects(t *testing.T) {
	for limit, most := range map[int]int{0: maxLoading, 1: 1, 7: 7, 16: 14} {
		t.Run(fmt.Sprint("limit ", limit), func(t *testing.T) {
			var listed, live, mostListed, mostAll atomic.Int32
			bubble(t, Options{WorkerLimit: limit, Process: func(ctx context.Context, b *Batch) *Next {
				defer kube.BeginRequest(ctx)()
				now := &live
				if b.Key.Resource == "listed" {
					now = &listed
					mostListed.Store(max(mostListed.Load(), now.Add(1)))
				} else {
					now.Add(1)
				}
				mostAll.Store(max(mostAll.Load(), listed.Load()+live.Load()))
				time.Sleep(tickInterval - time.Millisecond) // not stuck
				now.Add(-1)
				return nil
			}}, func(t *testing.T, q *Queue) {
				for i := range 1000 {
					q.Put("listed", event(watch.Listed, fmt.Sprint(i), "1"))
				}
				synctest.Wait()
				if got := int(listed.Load()); got != most {
					t.Errorf("%d objects of the listing are processed", got)
				}
				for i := range 2 {
					q.Put("live", event(watch.Added, fmt.Sprint(i), "1"))
				}
				synctest.Wait()
				if got, free := live.Load(), most < limit || limit == 0; (got == 2) != free {
					t.Errorf("%d live objects are processed at once", got)
				}
				time.Sleep(time.Hour)
				if int(mostListed.Load()) > most || limit > 0 && int(mostAll.Load()) > limit || q.Stats() != (Stats{}) {
					t.Errorf("at most %d of the listing, %d altogether, at the end %+v", mostListed.Load(), mostAll.Load(), q.Stats())
				}
			})
		})
	}
}

func TestScaling_ListingHasMoreWorkersUnlessTheClusterIsBusy(t *testing.T) {
	for name, test := range map[string]struct {
		takes     time.Duration
		inRequest bool
		most      int
	}{
		"requests":            {3 * tickInterval / 2, true, maxLoading},
		"handlers":            {2 * tickInterval, false, maxCounted},
		"hanging requests":    {hangsAfter + 2*tickInterval, true, maxCounted},
		"very short requests": {time.Millisecond, true, maxLoading},
	} {
		t.Run(name, func(t *testing.T) {
			var now, most atomic.Int32
			bubble(t, Options{Process: func(ctx context.Context, _ *Batch) *Next {
				if test.inRequest {
					defer kube.BeginRequest(ctx)()
				}
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(test.takes)
				now.Add(-1)
				return nil
			}}, func(t *testing.T, q *Queue) {
				for i := range 1000 {
					q.Put("pods", event(watch.Listed, fmt.Sprint(i), "1"))
				}
				time.Sleep(time.Hour)
				if int(most.Load()) != test.most {
					t.Errorf("at most %d at once, want %d", most.Load(), test.most)
				}
			})
		})
	}
}

func TestScaling_SlowLiveObjectsLeaveWorkersForAListing(t *testing.T) {
	var listed atomic.Int32
	var q *Queue
	bubble(t, Options{Process: func(_ context.Context, b *Batch) *Next {
		time.Sleep(tickInterval)
		if b.Key.Resource == "listed" {
			listed.Add(1)
		} else if listed.Load() < 100 {
			q.Put("live", event(watch.Modified, b.Key.Object, b.Newest.Object.ResourceVersion+"1"))
		}
		return nil
	}}, func(t *testing.T, made *Queue) {
		q = made
		for i := range 200 {
			q.Put("live", event(watch.Added, fmt.Sprint(i), "1"))
		}
		for i := range 100 {
			q.Put("listed", event(watch.Listed, fmt.Sprint(i), "1"))
		}
		time.Sleep(time.Hour)
		if listed.Load() != 100 {
			t.Errorf("%d of the listing were handled", listed.Load())
		}
	})
}
