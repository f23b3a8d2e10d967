package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/lifecycle"
)

func TestLifecycle_AllAtOnceIsOneCycle(t *testing.T) {
	cluster := newCluster(t)
	var c calls
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, c.does("1"), kopf.ID("first"))
		kopf.OnCreate(r, plains, c.does("2"), kopf.ID("second"))
	}, settings(func(s *kopf.Settings) { s.Execution.Lifecycle = lifecycle.AllAtOnce }), logPatches)
	a := cluster.Create(plain.of(example("a")))
	o.WaitLog("Creation is processed: 2 succeeded")
	waitHandled(a)
	if got := len(patchesOf(o)); got != 1 || !c.is("1", "2")() {
		t.Errorf("got %d requests, calls: %q", got, c.all())
	}
}

func TestLifecycle_OwnOneChoosesOrder(t *testing.T) {
	cluster := newCluster(t)
	var c calls
	var due atomic.Pointer[[]lifecycle.Due]
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.does("1"), kopf.ID("first"))
		kopf.OnCreate(r, kexes, c.does("2"), kopf.ID("second"))
	}, settings(func(s *kopf.Settings) {
		s.Execution.Lifecycle = func(d []lifecycle.Due) []lifecycle.Due {
			due.CompareAndSwap(nil, &d)
			return d[len(d)-1:]
		}
	}))
	cluster.Create(example("a"))
	o.WaitLog("Creation is processed: 2 succeeded")
	if !c.is("2", "1")() {
		t.Errorf("got %q", c.all())
	}
	if got := *due.Load(); !slices.Equal(got, []lifecycle.Due{{ID: "first"}, {ID: "second"}}) {
		t.Errorf("got %v", got)
	}
}

func TestLifecycle_InvalidChoiceIsError(t *testing.T) {
	for want, choose := range map[string]lifecycle.Func{
		"none of the handlers that are due was chosen": func([]lifecycle.Due) []lifecycle.Due { return nil },
		"is not due":       func([]lifecycle.Due) []lifecycle.Due { return []lifecycle.Due{{ID: "stranger"}} },
		"was chosen twice": func(d []lifecycle.Due) []lifecycle.Due { return append(d, d...) },
	} {
		t.Run(want, func(t *testing.T) {
			cluster := newCluster(t)
			var c calls
			o := cluster.Run(func(r *kopf.Registry) { kopf.OnCreate(r, kexes, c.does("1"), kopf.ID("create")) }, settings(func(s *kopf.Settings) { s.Execution.Lifecycle = choose }))
			cluster.Create(example("a"))
			o.WaitLog(want)
			o.WaitLog("it is throttled for 1s")
		})
	}
}

func TestWorkers_LimitIsKept(t *testing.T) {
	cluster := newCluster(t)
	var running, most, done atomic.Int32
	proceed := make(chan struct{})
	busy := func(context.Context, *change) error {
		n := running.Add(1)
		for {
			seen := most.Load()
			if n <= seen || most.CompareAndSwap(seen, n) {
				break
			}
		}
		<-proceed
		running.Add(-1)
		done.Add(1)
		return nil
	}
	op := cluster.Run(func(r *kopf.Registry) {
		// A parent does not count while it waits for its sub-handlers.
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			c.Sub("inside", busy)
			return c.Execute(ctx)
		}, kopf.ID("parent"))
		kopf.OnCreate(r, kexes, busy, kopf.ID("busy"))
		// Daemons do not count: otherwise no other handler could run.
		kopf.Daemon(r, kexes, func(ctx context.Context, _ *run) error {
			<-ctx.Done()
			return nil
		}, kopf.ID("daemon"))
	}, settings(func(s *kopf.Settings) { s.Execution.MaxWorkers = 2 }))
	const objects = 6
	for i := range objects {
		cluster.Create(example(fmt.Sprintf("o%d", i)))
	}
	// Each handler stays until as many run as may, and until the operator has answered a
	// request: one more could begin by then. In the end, there may be only one object left.
	for n := range int32(objects) {
		cluster.WaitUntil("as many handlers run as may", func() bool { return running.Load() >= 2 })
		op.Inspect()
		proceed <- struct{}{}
		cluster.WaitUntil("one of them has ended", func() bool { return done.Load() > n })
	}
	close(proceed)
	cluster.WaitUntil("all are handled", func() bool { return done.Load() == 2*objects })
	if got := most.Load(); got != 2 {
		t.Errorf("%d ran at the same time", got)
	}
}
