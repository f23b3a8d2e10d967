package e2e

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// ticking is a timer that takes some time.
func (r *roster) ticking(id string, takes time.Duration) func(context.Context, *tick) error {
	return func(_ context.Context, c *tick) error {
		defer r.enter(id + " " + c.Name)()
		time.Sleep(takes)
		return nil
	}
}

func TestThereIsOneOfEachTimerThroughRestartsPausesAndFlappingFilters(t *testing.T) {
	w, r := newWorld(t), newRoster()
	settings, client := inspected(t)
	register := func(reg *kopf.Registry) {
		kopf.Timer(reg, kexes, r.ticking("t", 3*time.Millisecond), kopf.ID("t"), kopf.Interval(time.Millisecond))
		kopf.Timer(reg, kexes, r.ticking("f", 10*time.Millisecond), kopf.ID("f"), kopf.Interval(time.Millisecond), kopf.Labels{"on": "yes"})
	}
	op := w.run(register, setup{settings: settings})
	w.create(example("x"))
	for i := range 12 {
		on := any(nil)
		if i%2 == 0 {
			on = "yes"
		}
		w.patch("x", tree{"metadata": tree{"labels": tree{"on": on}}})
		before := r.count(r.all, "t x")
		switch i % 4 {
		case 1:
			intend(t, client, inspect.IntentPause)
			intend(t, client, inspect.IntentResume)
		case 3:
			op.stop()
			op = w.run(register, setup{settings: settings})
		}
		eventually(t, "it goes on ticking", func() bool { return r.count(r.all, "t x") > before+3 },
			func() any { return op.journal.text() })
	}
	w.patch("x", tree{"metadata": tree{"labels": tree{"on": nil}}})
	phases(t, client, "x", inspect.StateSettled, "t=ticking", "f=filtered")
	w.delete("x")
	w.untilGone("x")
	r.until(t, "t x", 0, 1)
	r.until(t, "f x", 0, 1)
	ticks := r.count(r.all, "t x")
	r.neverTwice(t)
	w.create(example("y"))
	r.until(t, "t y", 0, 5) // time enough for another tick
	if now := r.count(r.all, "t x"); now != ticks {
		t.Errorf("it ticks for an object that is gone")
	}
}

func TestDaemonsAndTimersGetTheirArguments(t *testing.T) {
	w, done, ticked := newWorld(t), make(chan struct{}, 2), make(chan struct{})
	hasTicked := sync.OnceFunc(func() { close(ticked) })
	type shared struct{ daemon, timer atomic.Bool }
	check := func(what string, ok bool) {
		if !ok {
			t.Errorf("wrong: %s", what)
		}
	}
	w.run(func(reg *kopf.Registry) {
		index := kopf.NewIndex(reg, kexes, func(_ context.Context, p *indexed) (map[string]string, error) {
			return map[string]string{p.Name: p.Name}, nil
		}, kopf.ID("names"))
		kopf.Daemon(reg, kexes, func(ctx context.Context, d *run) error {
			if d.Retry == 0 {
				check("first attempt", d.Runtime < time.Second && time.Since(d.Started) < 10*time.Second)
				return kopf.Temporaryf(20*time.Millisecond, "once more")
			}
			check("attempt", d.Retry == 1 && d.Runtime >= 20*time.Millisecond && time.Since(d.Started) >= d.Runtime)
			check("resource", d.Resource.Resource == "kopfexamples" && d.Resource.Group == "kopf.dev")
			check("identity", d.Namespace == w.ns && d.Name == "x" && string(d.UID) == d.Body().Get("metadata.uid"))
			check("labels", d.Labels()["somelabel"] == "somevalue" && d.Annotations()["someannotation"] == "somevalue")
			check("object", d.Object().Get("spec.field") == "value" && d.Body() == d.Object())
			check("param", d.Param == 7)
			check("no reason to stop", d.StopReason() == 0)
			check("index", index.Len(ctx) == 1)
			check("tools", d.Logger != nil && d.Recorder != nil && d.Patch != nil)
			select {
			case <-ticked: // so that the timer is tried again
			case <-d.Stopping():
			}
			kopf.MemoOf[shared](d.Memo).daemon.Store(true)
			done <- struct{}{}
			<-d.Stopping()
			return nil
		}, kopf.ID("d"), kopf.Param(7))
		kopf.Timer(reg, kexes, func(ctx context.Context, c *tick) error {
			memo := kopf.MemoOf[shared](c.Memo)
			if !memo.daemon.Load() {
				hasTicked()
				return kopf.Temporaryf(time.Millisecond, "the daemon is not there yet")
			}
			if memo.timer.Swap(true) {
				return nil
			}
			check("attempt", c.Retry > 0 && c.Runtime > 0 && !c.Started.IsZero())
			check("resource", c.Resource.Resource == "kopfexamples" && c.Resource.Group == "kopf.dev")
			check("identity", c.Namespace == w.ns && c.Name == "x" && string(c.UID) == c.Body.Get("metadata.uid"))
			check("labels", c.Labels["somelabel"] == "somevalue" && c.Annotations["someannotation"] == "somevalue")
			check("object", c.Object.Get("spec.field") == "value")
			check("param", c.Param == "p")
			check("index", index.Len(ctx) == 1)
			check("tools", c.Logger != nil && c.Recorder != nil && c.Patch != nil)
			done <- struct{}{}
			return nil
		}, kopf.ID("t"), kopf.Interval(time.Millisecond), kopf.Param("p"))
	})
	w.create(example("x"))
	for range 2 {
		select {
		case <-done:
		case <-time.After(patience):
			t.Fatal("not both are called")
		}
	}
}
