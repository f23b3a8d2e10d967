package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestAllHandlersCanRunInOneCycle(t *testing.T) {
	w := newWorld(t)
	w.res = plain
	var c callList
	o := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, c.handler("1"), kopf.ID("first"))
		kopf.OnCreate(r, plains, c.handler("2"), kopf.ID("second"))
	}, setup{settings: func(s *kopf.Settings) { s.Execution.Lifecycle = kopf.AllAtOnce }})
	w.create(example("a"))
	o.journal.wait(t, "Creation is processed: 2 succeeded", 1)
	w.untilHandled("a")
	if got := len(o.journal.patches()); got != 1 || !c.is("1", "2")() {
		t.Errorf("got %d requests, calls: %q", got, c.list())
	}
}

func TestALifecycleOfOnesOwnChoosesTheOrder(t *testing.T) {
	w := newWorld(t)
	var c callList
	var due atomic.Pointer[[]kopf.Due]
	o := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.handler("1"), kopf.ID("first"))
		kopf.OnCreate(r, kexes, c.handler("2"), kopf.ID("second"))
	}, setup{settings: func(s *kopf.Settings) {
		s.Execution.Lifecycle = func(d []kopf.Due) []kopf.Due {
			due.CompareAndSwap(nil, &d)
			return d[len(d)-1:]
		}
	}})
	w.create(example("a"))
	o.journal.wait(t, "Creation is processed: 2 succeeded", 1)
	if !c.is("2", "1")() {
		t.Errorf("got %q", c.list())
	}
	if got := *due.Load(); !slices.Equal(got, []kopf.Due{{ID: "first"}, {ID: "second"}}) {
		t.Errorf("got %v", got)
	}
}

func TestALifecycleThatChoosesBadlyIsAnError(t *testing.T) {
	for want, choose := range map[string]kopf.Lifecycle{
		"has chosen none of the handlers": func([]kopf.Due) []kopf.Due { return nil },
		"which is not due":                func([]kopf.Due) []kopf.Due { return []kopf.Due{{ID: "stranger"}} },
		" twice":                          func(d []kopf.Due) []kopf.Due { return append(d, d...) },
	} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t)
			var c callList
			o := w.run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, c.handler("1"), kopf.ID("create")) },
				setup{settings: func(s *kopf.Settings) { s.Execution.Lifecycle = choose }})
			w.create(example("a"))
			o.journal.wait(t, want, 1)
			o.journal.wait(t, "it is throttled for 1s", 1)
		})
	}
}

func TestOnlySoManyHandlersRunAtTheSameTime(t *testing.T) {
	w := newWorld(t)
	var running, most, done atomic.Int32
	busy := func(context.Context, *kopf.Change[kopf.Object]) error {
		n := running.Add(1)
		for {
			seen := most.Load()
			if n <= seen || most.CompareAndSwap(seen, n) {
				break
			}
		}
		time.Sleep(20 * time.Millisecond) // long enough for the others to come in between
		running.Add(-1)
		done.Add(1)
		return nil
	}
	w.run(func(r *kopf.Registry) {
		// A parent that waits for its sub-handlers does not wait for itself.
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *kopf.Change[kopf.Object]) error {
			c.Sub("inside", busy)
			return c.Execute(ctx)
		}, kopf.ID("parent"))
		kopf.OnCreate(r, kexes, busy, kopf.ID("busy"))
		// Daemons would leave no room for others.
		kopf.Daemon(r, kexes, func(ctx context.Context, _ *kopf.DaemonRun[kopf.Object]) error {
			<-ctx.Done()
			return nil
		}, kopf.ID("daemon"))
	}, setup{settings: func(s *kopf.Settings) { s.Execution.MaxWorkers = 2 }})
	const objects = 6
	for i := range objects {
		w.create(example(fmt.Sprintf("o%d", i)))
	}
	eventually(t, "all are handled", func() bool { return done.Load() == 2*objects }, func() any { return done.Load() })
	if got := most.Load(); got != 2 {
		t.Errorf("%d ran at the same time", got)
	}
}
