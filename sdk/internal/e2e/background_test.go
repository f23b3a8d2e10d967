package e2e

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

type tick = kopf.TimerTick[kopf.Object]

func TestDaemonsEndWithTheirResource(t *testing.T) {
	w, r := newWorld(t), newRoster()
	w.res = testcluster.Examples(t, w.client)
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kopf.Resource(w.res.APIVersion(), w.res.Plural), r.daemon("d", 10*time.Millisecond), kopf.ID("d"))
	})
	w.create(example("x"))
	r.until(t, "d x", 1, 1)
	w.untilHeld("x")
	if err := testcluster.Delete(t.Context(), w.client, definitionResource, "", w.res.Plural+"."+w.res.Group); err != nil {
		t.Fatal(err)
	}
	r.until(t, "d x", 0, 1)
	op.journal.wait(t, "Stopping the watch-stream for "+w.res.Key(), 1)
	r.neverTwice(t)
}

func TestOperatorsWithManyDaemonsStopAtOnce(t *testing.T) {
	w, r := newWorld(t), newRoster()
	op := w.run(func(reg *kopf.Registry) {
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
		w.create(example(name))
	}
	for _, name := range names {
		r.until(t, "asked "+name, 1, 1)
		r.until(t, "cancelled "+name, 1, 1)
		r.until(t, "ticking "+name, 0, 1)
	}
	began := time.Now()
	op.stop()
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
	w := newWorld(t)
	release := make(chan struct{})
	done := make(chan struct{})
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			defer close(done)
			<-release
			d.Patch.Set("metadata.annotations.late", "late")
			return nil
		}, kopf.ID("d"))
	}, setup{settings: func(s *kopf.Settings) { s.Queueing.ExitTimeout = 100 * time.Millisecond }})
	w.create(example("x"))
	op.journal.wait(t, "Daemon 'd' is invoked.", 1)
	w.untilHeld("x")
	began := time.Now()
	op.stop()
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %s", took)
	}
	op.journal.wait(t, "Daemon 'd' ignores that the operator stops: it is left alone.", 1)
	close(release)
	<-done
	op.journal.wait(t, "it is lost", 1)
	if o := w.get("x"); o.Get("metadata.annotations.late") != nil {
		t.Error("an operator that has ended still writes")
	}
}

func TestWhatDaemonsDoArrives(t *testing.T) {
	w := newWorld(t)
	proceed := make(chan struct{})
	w.run(func(reg *kopf.Registry) {
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
	w.create(example("x"))
	<-proceed
	w.patch("x", tree{"spec": tree{"field": "other"}})
	w.until("x", "has all results", func(o *kopf.Object) bool {
		return o.Get("status.d.message") == "it is other" && o.Get("status.t.field") == "other" &&
			o.Get("status.failed") == true && o.Get("status.ticked") == true && o.Get("status.rounds") == int64(3)
	})
}

func TestResultsOutliveAnOutage(t *testing.T) {
	w := newWorld(t)
	var down atomic.Bool
	op := w.run(func(reg *kopf.Registry) {
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			down.Store(true)
			d.Result = "done"
			return nil
		}, kopf.ID("d"))
	}, setup{
		wrap: func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if down.Load() && isWrite(req) {
					return nil, errors.New("the network is down")
				}
				return next.RoundTrip(req)
			})
		},
		settings: func(s *kopf.Settings) { s.Networking.ErrorBackoffs = func(func(time.Duration) bool) {} },
	})
	w.create(example("x"))
	op.journal.wait(t, "cannot be sent: it is tried again in 1s.", 1)
	down.Store(false)
	w.until("x", "has the result", func(o *kopf.Object) bool { return o.Get("status.d") == "done" })
}

func TestWhereDaemonsAndTimersStandIsTold(t *testing.T) {
	w, r := newWorld(t), newRoster()
	settings, client := inspected(t)
	op := w.run(func(reg *kopf.Registry) {
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
	}, setup{settings: settings, config: w.restricted()})
	w.create(example("x"))
	x := phases(t, client, "x", inspect.StateSettled, "alive=alive", "done=done", "broken=filtered", "retrying=retrying", "ticking=ticking")
	if h := x.Handlers[3]; h.Attempt != 1 || len(h.Attempts) != 1 || h.Error == nil || time.Until(h.Next) < 50*time.Minute {
		t.Errorf("of the one that retries, this is told: %+v", h)
	}
	var timer inspect.HandlerState
	eventually(t, "the timer tells when it ticks again", func() bool {
		snapshot, err := client.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		timer = snapshot.Objects[0].Handlers[4]
		return time.Until(timer.Next) > 50*time.Minute
	}, func() any { return timer })
	// What was told is kept through other changes, and a delay can be ended.
	w.patch("x", tree{"spec": tree{"field": "other"}})
	x = phases(t, client, "x", inspect.StateSettled, "alive=alive", "done=done", "broken=filtered", "retrying=retrying", "ticking=ticking")
	if err := client.Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetry, Object: &x.Ref}); err != nil {
		t.Fatal(err)
	}
	x = phases(t, client, "x", inspect.StateSettled, "alive=alive", "done=done", "broken=filtered", "retrying=done", "ticking=ticking")
	if h := x.Handlers[3]; len(h.Attempts) != 2 {
		t.Errorf("the attempts are %+v", h.Attempts)
	}
	w.patch("x", tree{"metadata": tree{"labels": tree{"breaks": "yes"}}})
	phases(t, client, "x", inspect.StateFailed, "alive=alive", "done=done", "broken=failed", "retrying=done", "ticking=ticking")
	op.stop()
}

func TestTimersThatFailForGoodAreOver(t *testing.T) {
	w, r := newWorld(t), newRoster()
	op := w.run(func(reg *kopf.Registry) {
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("t " + c.Name)()
			return kopf.Permanentf("never again")
		}, kopf.ID("t"), kopf.Interval(time.Millisecond))
	})
	w.create(example("x"))
	op.journal.wait(t, "Timer 't' has exited on its own and will not be retried or restarted.", 1)
	w.patch("x", tree{"spec": tree{"field": "other"}})
	// Nothing runs that the object would have to be held for.
	w.until("x", "is not held", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
	if n := r.count(r.all, "t x"); n != 1 {
		t.Errorf("%d ticks", n)
	}
	w.delete("x")
	w.untilGone("x")
}

func TestIdleTimersWaitForWhatMatters(t *testing.T) {
	w, r := newWorld(t), newRoster()
	const idle = 150 * time.Millisecond
	w.run(func(reg *kopf.Registry) {
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("t " + c.Name)()
			c.Result = c.Object.Get("spec.field") // it does not wait for its own result
			return nil
		}, kopf.ID("t"), kopf.Idle(idle))
	})
	w.create(example("x"))
	// The status of some objects changes all the time: they are at rest nevertheless.
	for i := 0; r.count(r.all, "t x") == 0; i++ {
		w.patchStatus("x", tree{"status": tree{"heartbeat": i}})
		time.Sleep(idle / 10)
	}
	w.until("x", "has the result", func(o *kopf.Object) bool { return o.Get("status.t") == "value" })
	w.patchStatus("x", tree{"status": tree{"heartbeat": "last"}})
	time.Sleep(2 * idle) // in which nothing is to happen
	if n := r.count(r.all, "t x"); n != 1 {
		t.Errorf("%d ticks without a change", n)
	}
	w.patch("x", tree{"spec": tree{"field": "other"}})
	w.until("x", "has the other result", func(o *kopf.Object) bool { return o.Get("status.t") == "other" })
}
