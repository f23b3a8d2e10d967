package e2e

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestDaemonsEndWithTheirResource(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	own := ownResource(cluster)
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, own.selector(), r.daemon("d", 10*time.Millisecond), kopf.ID("d"))
	})
	x := cluster.Create(own.of(example("x")))
	r.until(cluster, "d x", 1, 1)
	waitHeld(x)
	definition(cluster, own).Delete()
	r.until(cluster, "d x", 0, 1)
	op.WaitLog("Stopping the watch-stream for " + own.key())
	r.neverTwice(t)
}

func TestOperatorsWithManyDaemonsStopAtOnce(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("asked", 0), kopf.ID("asked"))
		kopf.Daemon(reg, kexes, func(ctx context.Context, d *run) error {
			defer r.enter("cancelled " + d.Name)()
			<-ctx.Done()
			return context.Cause(ctx)
		}, kopf.ID("cancelled"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("ticking " + c.Name)()
			return kopf.Temporaryf(time.Hour, "later")
		}, kopf.ID("ticking"), kopf.Interval(time.Hour))
		kopf.Daemon(reg, kexes, r.daemon("delayed", 0), kopf.ID("delayed"), kopf.InitialDelay(time.Hour))
	})
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	for _, name := range names {
		cluster.Create(example(name))
	}
	for _, name := range names {
		r.until(cluster, "asked "+name, 1, 1)
		r.until(cluster, "cancelled "+name, 1, 1)
		r.until(cluster, "ticking "+name, 0, 1)
	}
	began := time.Now()
	op.Stop()
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %s", took)
	}
	for who, n := range r.now {
		if n > 0 {
			t.Errorf("%s goes on", who)
		}
	}
	r.neverTwice(t)
}

func TestOperatorsDoNotWaitForEverForDaemonsThatDoNotEnd(t *testing.T) {
	cluster := newCluster(t)
	release := make(chan struct{})
	done := make(chan struct{})
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			defer close(done)
			<-release
			d.Patch.Set("metadata.annotations.late", "late")
			return nil
		}, kopf.ID("d"))
	}, settings(func(s *kopf.Settings) { s.Queueing.ExitTimeout = 100 * time.Millisecond }))
	x := cluster.Create(example("x"))
	op.WaitLog("Daemon 'd' is invoked.")
	waitHeld(x)
	began := time.Now()
	op.Stop()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
	op.WaitLog("Daemon 'd' ignores that the operator stops: it is left alone.")
	close(release)
	<-done
	op.WaitLog("it is lost")
	if o := x.Get(); o.Get("metadata.annotations.late") != nil {
		t.Error("an operator that has ended still writes")
	}
}

func TestWhatDaemonsDoArrives(t *testing.T) {
	cluster := newCluster(t)
	proceed := make(chan struct{})
	cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(ctx context.Context, d *run) error {
			if d.Retry == 0 {
				d.Patch.Set("status.failed", true)
				return kopf.Temporaryf(time.Millisecond, "first")
			}
			for range 3 {
				// Each round builds on what the one before has written.
				kopf.Edit(d.Patch, func(o *struct {
					Status struct {
						Rounds int `json:"rounds"`
					} `json:"status"`
				}) {
					o.Status.Rounds++
				})
				if err := d.Apply(ctx); err != nil {
					return err
				}
			}
			if n := kopf.GetOr(d.Object(), "status.rounds", 0); n != 3 {
				return kopf.Permanentf("%d rounds are to be seen", n)
			}
			proceed <- struct{}{}
			for d.Object().Get("spec.field") == "value" {
				<-d.Changed()
			}
			d.Result = map[string]string{"message": "it is " + d.Object().Get("spec.field").(string)}
			return nil
		}, kopf.ID("d"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			c.Patch.Set("status.ticked", true)
			c.Result = map[string]any{"retry": c.Retry, "field": c.Object.Get("spec.field")}
			return nil
		}, kopf.ID("t"), kopf.Interval(5*time.Millisecond))
	})
	x := cluster.Create(example("x"))
	<-proceed
	x.Patch(tree{"spec": tree{"field": "other"}})
	x.WaitFor("it has all results", func(o *kopf.Object) bool {
		return o.Get("status.d.message") == "it is other" && o.Get("status.t.field") == "other" &&
			o.Get("status.failed") == true && o.Get("status.ticked") == true && o.Get("status.rounds") == int64(3)
	})
}

func TestResultsOutliveAnOutage(t *testing.T) {
	cluster := newCluster(t)
	var down atomic.Bool
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			down.Store(true)
			d.Result = "done"
			return nil
		}, kopf.ID("d"))
	}, transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if down.Load() && isWrite(req) {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(req)
		})
	}), settings(func(s *kopf.Settings) { s.Networking.ErrorBackoffs = func(func(time.Duration) bool) {} }))
	x := cluster.Create(example("x"))
	op.WaitLog("cannot be sent: it is tried again in 1s.")
	down.Store(false)
	x.WaitFor("it has the result", func(o *kopf.Object) bool { return o.Get("status.d") == "done" })
}

func TestWhereDaemonsAndTimersStandIsTold(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, r.daemon("alive", 0), kopf.ID("alive"))
		kopf.Daemon(reg, kexes, func(context.Context, *run) error { return nil }, kopf.ID("done"))
		kopf.Daemon(reg, kexes, func(context.Context, *run) error { return kopf.Permanentf("broken") },
			kopf.ID("broken"), kopf.Labels{"breaks": "yes"})
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			if d.Retry == 0 {
				return errors.New("oops")
			}
			return nil
		}, kopf.ID("retrying"), kopf.Backoff(time.Hour))
		kopf.Timer(reg, kexes, func(context.Context, *tick) error { return nil }, kopf.ID("ticking"), kopf.Interval(time.Hour))
	}, connect(restricted(t, cluster)))
	x1 := cluster.Create(example("x"))
	x := phases(op, "x", inspect.StateSettled, "alive=alive", "done=done", "broken=filtered", "retrying=retrying", "ticking=ticking")
	if h := x.Handlers[3]; h.Attempt != 1 || len(h.Attempts) != 1 || h.Error == nil || time.Until(h.Next) < 50*time.Minute {
		t.Errorf("of the one that retries, this is told: %+v", h)
	}
	var timer inspect.HandlerState
	op.WaitInspect("the timer tells when it ticks again", func(snapshot *inspect.Snapshot) bool {
		timer = snapshot.Objects[0].Handlers[4]
		return time.Until(timer.Next) > 50*time.Minute
	})
	// What was told is kept through other changes, and a delay can be ended.
	x1.Patch(tree{"spec": tree{"field": "other"}})
	x = phases(op, "x", inspect.StateSettled, "alive=alive", "done=done", "broken=filtered", "retrying=retrying", "ticking=ticking")
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetry, Object: &x.Ref}); err != nil {
		t.Fatal(err)
	}
	x = phases(op, "x", inspect.StateSettled, "alive=alive", "done=done", "broken=filtered", "retrying=done", "ticking=ticking")
	if h := x.Handlers[3]; len(h.Attempts) != 2 {
		t.Errorf("the attempts are %+v", h.Attempts)
	}
	x1.Patch(tree{"metadata": tree{"labels": tree{"breaks": "yes"}}})
	phases(op, "x", inspect.StateFailed, "alive=alive", "done=done", "broken=failed", "retrying=done", "ticking=ticking")
	op.Stop()
}

func TestTimersThatFailForGoodAreOver(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("t " + c.Name)()
			return kopf.Permanentf("never again")
		}, kopf.ID("t"), kopf.Interval(time.Millisecond))
	})
	x := cluster.Create(example("x"))
	op.WaitLog("Timer 't' has exited on its own and will not be retried or restarted.")
	x.Patch(tree{"spec": tree{"field": "other"}})
	// Nothing runs that the object would have to be held for.
	x.WaitFor("it is not held", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
	if n := r.count(r.all, "t x"); n != 1 {
		t.Errorf("%d ticks", n)
	}
	x.Delete()
	x.WaitGone()
}

func TestIdleTimersWaitForWhatMatters(t *testing.T) {
	cluster, r := newCluster(t), newRoster()
	const idle = 150 * time.Millisecond
	cluster.Run(func(reg *kopf.Registry) {
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("t " + c.Name)()
			c.Result = c.Object.Get("spec.field") // it does not wait for its own result
			return nil
		}, kopf.ID("t"), kopf.Idle(idle))
	})
	x := cluster.Create(example("x"))
	// The status of some objects changes all the time: they are at rest nevertheless.
	for i := 0; r.count(r.all, "t x") == 0; i++ {
		x.Patch(tree{"status": tree{"heartbeat": i}})
		time.Sleep(idle / 10)
	}
	x.WaitFor("it has the result", func(o *kopf.Object) bool { return o.Get("status.t") == "value" })
	x.Patch(tree{"status": tree{"heartbeat": "last"}})
	time.Sleep(2 * idle) // in which nothing is to happen
	if n := r.count(r.all, "t x"); n != 1 {
		t.Errorf("%d ticks without a change", n)
	}
	x.Patch(tree{"spec": tree{"field": "other"}})
	x.WaitFor("it has the other result", func(o *kopf.Object) bool { return o.Get("status.t") == "other" })
}
