package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// disorder calls the methods of a queue at random, and counts the work that the queue must have done at the end.
type disorder struct {
	mu      sync.Mutex
	random  *rand.Rand
	wanted  map[string]int // newest version that was put, by object
	handled map[string]int // newest version that was processed, by object
	asked   int            // functions given to Between
	called  int            // functions of Between that were called
}

// below returns a random number below n.
func (d *disorder) below(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.IntN(n)
}

// process takes a random time, and has a random outcome.
func (d *disorder) process(_ context.Context, b *Batch) *Next {
	time.Sleep([]time.Duration{0, time.Millisecond, 3 * time.Millisecond, 2 * time.Second}[d.below(4)])
	if n := len(b.Events); n > 0 {
		version, err := strconv.Atoi(b.Events[n-1].Object.ResourceVersion)
		d.mu.Lock()
		if d.handled[b.Key.Object] = max(d.handled[b.Key.Object], version); err != nil {
			d.handled[b.Key.Object] = -1
		}
		d.mu.Unlock()
	}
	return []*Next{{}, {After: 50 * time.Millisecond}, {After: 2 * time.Minute}, nil, nil, nil}[d.below(6)]
}

// act calls a random method of the queue. It returns the gate for the next events.
func (d *disorder) act(q *Queue, gate *Gate, version int) *Gate {
	name := fmt.Sprint(d.below(6))
	types := []string{watch.Listed, watch.Modified, watch.Added}
	switch d.below(12) {
	case 0:
		d.put(name, version)
		q.Put("pods", event(types[d.below(3)], name, fmt.Sprint(version)))
	case 1, 2, 3, 4:
		d.put(name, version)
		q.PutBehind(gate, "pods", event(types[d.below(3)], name, fmt.Sprint(version)))
	case 5:
		q.Open(gate)
		return &Gate{}
	case 6:
		q.Again(Class(d.below(3)), "pods", event(watch.Modified, name, "1"))
	case 7:
		q.Recall("pods", event("", name, "1").Object)
	case 8, 9:
		d.asked++
		q.Between(KeyOf("pods", event("", name, "1").Object), func(context.Context) {
			time.Sleep(time.Duration(d.below(2)) * 5 * time.Millisecond)
			d.mu.Lock()
			defer d.mu.Unlock()
			d.called++
		})
	case 10:
		q.Drop(func(k Key) bool {
			if k != KeyOf("pods", event("", name, "1").Object) {
				return false
			}
			d.put(name, 0)
			return true
		})
	case 11:
		time.Sleep(time.Duration(d.below(30)) * time.Millisecond)
	}
	return gate
}

func (d *disorder) put(name string, version int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted[KeyOf("pods", event("", name, "1").Object).Object] = version
}

func TestQueue_RandomCallsLoseNothing(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		limit := []int{0, 1, 2, 8, 9}[seed%5]
		d := &disorder{random: rand.New(rand.NewPCG(seed, 1)), wanted: map[string]int{}, handled: map[string]int{}}
		bubble(t, Options{WorkerLimit: limit, Process: d.process}, func(t *testing.T, q *Queue) {
			gate := &Gate{}
			for version := 1; version < 600; version++ {
				gate = d.act(q, gate, version)
			}
			q.Open(gate)
			time.Sleep(time.Hour)
			synctest.Wait()
			for object, version := range d.wanted {
				if d.handled[object] < version {
					t.Errorf("seed %d: version %d of %s was put, but only %d was processed", seed, version, object, d.handled[object])
				}
			}
			if d.called != d.asked {
				t.Errorf("seed %d: %d functions were given to Between, but %d were called", seed, d.asked, d.called)
			}
			checkAtRest(t, q, seed)
		})
	}
}

// checkAtRest checks that the queue has nothing but objects that wait for a delay.
func checkAtRest(t *testing.T, q *Queue, seed uint64) {
	t.Helper()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.entries {
		if e.state != waiting {
			t.Errorf("seed %d: %v is in state %d", seed, e.key, e.state)
		}
	}
	s := &q.scaling
	for name, n := range map[string]int{
		"ready": q.ready.len, "catching up": q.catchUp.Objects, "running": s.running, "starting": s.starting,
		"counted": s.counted, "listing": s.listing, "counted and listing": s.countedListing, "not waiting": len(q.entries) - q.waiting,
	} {
		if n != 0 {
			t.Errorf("seed %d: %d are %s", seed, n, name)
		}
	}
}

func TestBetween_CallsFunctionsThatComeDuringACall(t *testing.T) {
	bubble(t, Options{Process: func(context.Context, *Batch) *Next { return nil }}, func(t *testing.T, q *Queue) {
		key, called := Key{Resource: "pods", Object: "a"}, false
		q.Between(key, func(context.Context) {
			q.Between(key, func(context.Context) { called = true })
		})
		synctest.Wait()
		if !called {
			t.Error("the second function was not called")
		}
	})
}

func TestScaling_ReleasedWorkerOccupiesNoPlaceOfListings(t *testing.T) {
	bubble(t, Options{Process: func(context.Context, *Batch) *Next { return nil }}, func(t *testing.T, q *Queue) {
		for range maxCounted {
			q.mu.Lock()
			w := &worker{wake: make(chan struct{}, 1)}
			q.begin(w)
			q.scaling.release(w) // as a tick does with workers that have not taken their objects yet
			e := newEntry(Key{Resource: "pods", Object: "a"})
			e.class, e.again, e.state = Listing, true, ready
			q.ready.push(e, q.now())
			q.mu.Unlock()
			q.workUntilIdle(q.ctx, w)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.roomForListing() != maxLoading {
			t.Errorf("there is room for %d objects of listings, want %d", q.roomForListing(), maxLoading)
		}
	})
}
