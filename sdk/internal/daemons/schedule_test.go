package daemons

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestTimer_Schedule(t *testing.T) {
	type sets = []func(*handlers.Handler)
	for name, c := range map[string]struct {
		set  sets
		fn   func(context.Context, call) error
		want []string // calls in the first 29.5 seconds
	}{
		"the interval is between the end of a tick and the next": {
			sets{interval(5)}, taking(7),
			[]string{"0s t retry=0", "12s t retry=0", "24s t retry=0"},
		},
		"a sharp interval is between their starts": {
			sets{interval(10), sharp}, taking(3),
			[]string{"0s t retry=0", "10s t retry=0", "20s t retry=0"},
		},
		"a sharp timer that is late skips what it has missed": {
			sets{interval(5), sharp}, taking(7),
			[]string{"0s t retry=0", "10s t retry=0", "20s t retry=0"},
		},
		"a sharp timer that takes all of its interval skips the next": {
			sets{interval(10), sharp}, taking(10),
			[]string{"0s t retry=0", "20s t retry=0"},
		},
		"the first tick waits for the initial delay": {
			sets{interval(10), initially(3)}, fine,
			[]string{"3s t retry=0", "13s t retry=0", "23s t retry=0"},
		},
		"an idle timer waits until the object is at rest": {
			sets{interval(10), idle(8)}, fine,
			[]string{"8s t retry=0", "18s t retry=0", "28s t retry=0"},
		},
		"an idle timer with no interval ticks once for each change": {
			sets{idle(8)}, fine,
			[]string{"8s t retry=0"},
		},
		"the idle time goes on during the initial delay": {
			sets{initially(4), idle(6), interval(5), sharp}, taking(7),
			[]string{"6s t retry=0", "16s t retry=0", "26s t retry=0"},
		},
		"the initial delay can be longer than the idle time": {
			sets{initially(20), idle(6), interval(5)}, fine,
			[]string{"20s t retry=0", "25s t retry=0"},
		},
		"with neither an interval nor an idle time, there is one tick": {
			nil, fine,
			[]string{"0s t retry=0"},
		},
		"a permanent error ends the timer": {
			sets{interval(2)}, failing(permanent{}),
			[]string{"0s t retry=0"},
		},
		"errors beyond the limit of retries end it": {
			sets{interval(5), backoff(2), retries(2)}, failing(errOops, errOops),
			[]string{"0s t retry=0", "2s t retry=1"},
		},
		"errors that would be retried after the timeout end it": {
			sets{interval(5), backoff(2), func(h *handlers.Handler) { h.Timeout = seconds(5) }}, failing(errOops, errOops, errOops),
			[]string{"0s t retry=0", "2s t retry=1", "4s t retry=2"},
		},
		"errors that are ignored do not change the schedule": {
			sets{interval(10), ignoring}, failing(errOops),
			[]string{"0s t retry=0", "10s t retry=0", "20s t retry=0"},
		},
		"errors override the interval with their backoff": {
			sets{interval(20), backoff(2)}, failing(errOops, errOops),
			[]string{"0s t retry=0", "2s t retry=1", "4s t retry=2", "24s t retry=0", "26s t retry=1", "28s t retry=2"},
		},
		"temporary errors override it with their delays": {
			sets{interval(20), backoff(9)}, failing(temporary{time.Second}, temporary{3 * time.Second}),
			[]string{"0s t retry=0", "1s t retry=1", "4s t retry=2", "24s t retry=0", "25s t retry=1", "28s t retry=2"},
		},
		"a sharp timer begins its grid anew after errors": {
			sets{interval(10), sharp, backoff(3)}, failing(errOops),
			[]string{"0s t retry=0", "3s t retry=1", "13s t retry=0", "16s t retry=1", "26s t retry=0", "29s t retry=1"},
		},
		"an idle timer is tried again after the delay of its error": {
			sets{idle(8), backoff(3)}, failing(errOops),
			[]string{"8s t retry=0", "11s t retry=1"},
		},
	} {
		runSynctest(t, name, func(t *testing.T) {
			s := newFakeHost(c.fn)
			g := group(t, s, timer("t", c.set...))
			time.Sleep(29500 * time.Millisecond)
			s.expect(t, c.want...)
			end(t, g)
		})
	}
}

// The examples of docs/daemons-and-timers.md.
func TestTimer_ExamplesOfDocumentation(t *testing.T) {
	runSynctest(t, "three failures with a backoff of 5 seconds and an interval of 10 take 25 seconds", func(t *testing.T) {
		s := newFakeHost(failing(errOops, errOops, errOops))
		g := group(t, s, timer("t", interval(10), backoff(5)))
		time.Sleep(26 * time.Second)
		s.expect(t, "0s t retry=0", "5s t retry=1", "10s t retry=2", "15s t retry=3", "25s t retry=0")
		end(t, g)
	})

	runSynctest(t, "a minute to warm up, then every 10 seconds if it was not modified for 10 minutes", func(t *testing.T) {
		s := newFakeHost(fine)
		g := group(t, s, timer("t", initially(60), interval(10), idle(600)))
		time.Sleep(615 * time.Second)
		update(g, version(2), true)
		time.Sleep(615 * time.Second)
		s.expect(t, "600s t retry=0", "610s t retry=0", "1215s t retry=0", "1225s t retry=0")
		end(t, g)
	})

	runSynctest(t, "a sharp tick of 0.3 seconds is followed by 0.7 seconds of rest", func(t *testing.T) {
		s := newFakeHost(taking(0.3))
		g := group(t, s, timer("t", interval(1), sharp))
		time.Sleep(2500 * time.Millisecond)
		s.expect(t, "0s t retry=0", "1s t retry=0", "2s t retry=0")
		end(t, g)
	})
}

func TestTimer_Idle(t *testing.T) {
	runSynctest(t, "wait anew after each change of what matters", func(t *testing.T) {
		s := newFakeHost(fine)
		g := group(t, s, timer("t", idle(10)))
		for n := range 3 {
			time.Sleep(6 * time.Second)
			update(g, version(n+2), true)
		}
		time.Sleep(20 * time.Second)
		update(g, version(9), false) // a change of nothing that matters
		time.Sleep(20 * time.Second)
		update(g, version(10), true)
		time.Sleep(20 * time.Second)
		s.expect(t, "28s t retry=0", "68s t retry=0")
		end(t, g)
	})

	runSynctest(t, "with an interval tick as long as the object is at rest", func(t *testing.T) {
		s := newFakeHost(fine)
		g := group(t, s, timer("t", idle(10), interval(1)))
		time.Sleep(12500 * time.Millisecond)
		update(g, version(2), true)
		time.Sleep(11500 * time.Millisecond)
		s.expect(t, "10s t retry=0", "11s t retry=0", "12s t retry=0", "22.5s t retry=0", "23.5s t retry=0")
		end(t, g)
	})

	runSynctest(t, "see the changes that come during a tick", func(t *testing.T) {
		s := newFakeHost(taking(5))
		g := group(t, s, timer("t", idle(10)))
		time.Sleep(12 * time.Second)
		update(g, version(2), true)
		time.Sleep(time.Minute)
		s.expect(t, "10s t retry=0", "22s t retry=0")
		end(t, g)
	})

	runSynctest(t, "matching again does not restart the idle time", func(t *testing.T) {
		s, h := newFakeHost(fine), timer("t", idle(10))
		g := group(t, s, h)
		time.Sleep(4 * time.Second)
		adjust(g, nil)
		time.Sleep(4 * time.Second)
		adjust(g, []*handlers.Handler{h})
		time.Sleep(time.Minute)
		s.expect(t, "10s t retry=0")
		end(t, g)
	})
}

func TestTimer_Stop(t *testing.T) {
	for name, h := range map[string]*handlers.Handler{
		"in the initial delay":         timer("t", initially(20), interval(60)),
		"in the idle time":             timer("t", idle(20), interval(60)),
		"in the interval":              timer("t", interval(60)),
		"in the rest of a sharp one":   timer("t", interval(60), sharp),
		"in the wait for a change":     timer("t", idle(1)),
		"in the delay of an error":     timer("t", interval(1), backoff(60)),
		"with long cancellation times": timer("t", interval(60), patient(60, 60, -1)),
	} {
		runSynctest(t, name+" end at once", func(t *testing.T) {
			fn := fine
			if h.Backoff != nil {
				fn = failing(errOops)
			}
			s := newFakeHost(fn)
			g := group(t, s, h)
			time.Sleep(5 * time.Second)
			if delays := g.Stop(ResourceDeleted); len(delays) != 0 || len(g.Tasks()) != 0 || s.ends != 1 {
				t.Errorf("delays %v, %d tasks, %d ends", delays, len(g.Tasks()), s.ends)
			}
			if since := time.Since(s.began); since > 5*time.Second {
				t.Errorf("it took %s", since-5*time.Second)
			}
			before := len(s.events)
			time.Sleep(time.Hour)
			if len(s.events) != before {
				t.Errorf("it still ticks: %q", s.events)
			}
		})
	}

	runSynctest(t, "during a tick end with it", func(t *testing.T) {
		s := newFakeHost(func(ctx context.Context, _ call) error {
			select {
			case <-ctx.Done():
				time.Sleep(time.Second)
			case <-time.After(time.Minute):
			}
			return nil
		})
		g := group(t, s, timer("t", interval(1)))
		time.Sleep(5 * time.Second)
		end(t, g)
		if since := time.Since(s.began); since != 6*time.Second {
			t.Errorf("it took %s", since)
		}
		s.expect(t, "0s t retry=0")
	})

	runSynctest(t, "a timer that ends its goroutine has ended", func(t *testing.T) {
		s := newFakeHost(func(context.Context, call) error { runtime.Goexit(); return nil })
		g := group(t, s, timer("t", interval(1)))
		time.Sleep(5 * time.Second)
		s.expect(t, "0s t retry=0")
		if len(g.Tasks()) != 0 {
			t.Error("it goes on")
		}
	})
}

func TestTimer_TicksNeverOverlap(t *testing.T) {
	runSynctest(t, "those of one timer", func(t *testing.T) {
		s := newFakeHost(taking(3.5))
		h := timer("t", interval(1), sharp)
		g := group(t, s, h)
		for n := range 20 {
			adjust(g, []*handlers.Handler{h})
			update(g, version(n+2), true)
			g.RetryNow(nil)
			time.Sleep(time.Second / 2)
		}
		s.expect(t, "0s t retry=0", "4s t retry=0", "8s t retry=0")
		end(t, g)
	})

	runSynctest(t, "ticks of different timers overlap", func(t *testing.T) {
		var now, most atomic.Int32
		s := newFakeHost(func(context.Context, call) error {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(3 * time.Second)
			now.Add(-1)
			return nil
		})
		g := group(t, s, timer("t", interval(5)), timer("u", interval(7)), daemon("d"))
		time.Sleep(time.Minute)
		if most.Load() != 3 {
			t.Errorf("at most %d went on at the same time", most.Load())
		}
		end(t, g)
	})
}

func TestTimer_EachTickCountsItsOwnAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeHost(nil)
		s.fn = func(_ context.Context, c call) error {
			s.note("runtime=%gs", time.Since(c.started).Seconds())
			return failing(temporary{2 * time.Second}, temporary{3 * time.Second})(nil, c)
		}
		g := group(t, s, timer("t", interval(10)))
		time.Sleep(18 * time.Second)
		s.expect(t,
			"0s t retry=0", "0s runtime=0s", "2s t retry=1", "2s runtime=2s", "5s t retry=2", "5s runtime=5s",
			"15s t retry=0", "15s runtime=0s", "17s t retry=1", "17s runtime=2s")
		end(t, g)
	})
}

func TestTimer_KeepsIntervalForADay(t *testing.T) {
	objects := 20
	if testing.Short() {
		objects = 4
	}
	began := time.Now() // outside of the bubble
	synctest.Test(t, func(t *testing.T) {
		var ticks atomic.Int64
		s := newFakeHost(func(context.Context, call) error { ticks.Add(1); return nil })
		var groups []*Group
		for n := range objects {
			groups = append(groups, group(t, s, timer(fmt.Sprint("t", n), interval(60))))
		}
		time.Sleep(24*time.Hour - time.Second)
		for _, g := range groups {
			end(t, g)
		}
		if n := ticks.Load(); n != int64(objects)*24*60 {
			t.Errorf("%d ticks", n)
		}
	})
	t.Logf("the day took %s", time.Since(began))
}

// goroutinesOfBubble returns how many goroutines run in synctest bubbles. runtime.NumGoroutine also counts
// those of the runtime and of the test framework, which come and go by themselves.
func goroutinesOfBubble() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("synctest bubble"))
}

func TestTask_WaitsWithoutGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := goroutinesOfBubble()
		if before == 0 {
			t.Fatal("the goroutine of this test is not found in the stacks")
		}
		s := newFakeHost(failing(errOops))
		var handlers []*handlers.Handler
		for n := range 10 {
			handlers = append(handlers,
				timer(fmt.Sprint("failed", n), interval(60)), timer(fmt.Sprint("idle", n), idle(60)),
				timer(fmt.Sprint("delayed", n), initially(60)), daemon(fmt.Sprint("restarted", n)))
		}
		g := group(t, s, handlers...)
		if n := goroutinesOfBubble() - before; n > 0 || len(g.Tasks()) != 40 {
			t.Errorf("%d goroutines for %d tasks", n, len(g.Tasks()))
		}
		end(t, g)
		if !slices.Contains(s.events, "0s restarted9 retry=0") {
			t.Errorf("they were not called: %q", s.events)
		}
	})
}

func TestTimer_WaitsForSlotWithoutGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := &handlers.CallLimit{Running: 1}
		host := newFakeHost(func(context.Context, call) error {
			time.Sleep(10 * time.Second)
			return nil
		})
		group := NewGroup(t.Context(), host, Settings{}, &object.Object{})
		for _, id := range []string{"a", "b", "c"} {
			group.Start([]*handlers.Handler{{ID: id, Family: handlers.Timer, Interval: new(time.Minute), CallLimit: limit}})
			synctest.Wait()
		}
		time.Sleep(5 * time.Second)
		group.StopMismatched(nil) // those that wait end at once, and the running one after its call
		time.Sleep(time.Minute)
		synctest.Wait()
		other := host.slots.NewTurn(limit, func() {})
		if !other.Reserve(false) {
			t.Error("a slot was lost")
		}
		if len(group.Tasks()) > 0 {
			t.Errorf("%d tasks are left", len(group.Tasks()))
		}
	})
}

func TestTimer_IsCalledWhenItGetsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := &handlers.CallLimit{Running: 1}
		var begun []string
		began := time.Now()
		host := newFakeHost(func(_ context.Context, c call) error {
			begun = append(begun, fmt.Sprintf("%s after %s", c.Handler.ID, time.Since(began)))
			time.Sleep(10 * time.Second)
			return nil
		})
		group := NewGroup(t.Context(), host, Settings{}, &object.Object{})
		for _, id := range []string{"a", "b", "c"} {
			group.Start([]*handlers.Handler{{ID: id, Family: handlers.Timer, Interval: new(time.Hour), CallLimit: limit}})
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := strings.Join(begun, ", "); got != "a after 0s, b after 10s, c after 20s" {
			t.Error(got)
		}
		group.StopMismatched(nil)
		synctest.Wait()
	})
}
