package e2e

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestTimer_PermanentErrorEndsIt(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("t " + c.Name)()
			return kopf.Permanentf("never again")
		}, kopf.ID("t"), kopf.Interval(time.Millisecond))
	})
	x := cluster.Create(example("x"))
	op.WaitLog("Timer 't' has exited on its own and will not be retried or restarted.")
	x.Patch(field("other"))
	// No running daemon or timer needs the finalizer.
	x.WaitFor("it is not held", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") == nil })
	if n := r.count(r.all, "t x"); n != 1 {
		t.Errorf("%d ticks", n)
	}
	x.Delete()
	x.WaitGone()
}

func TestTimer_IdleIgnoresStatusChanges(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	const idle = 150 * time.Millisecond
	cluster.Run(func(reg *kopf.Registry) {
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("t " + c.Name)()
			c.Result = c.Object.Get("spec.field") // it does not wait for its own result
			return nil
		}, kopf.ID("t"), kopf.Idle(idle))
	})
	x := cluster.Create(example("x"))
	// Changes of the status do not restart the idle time.
	beats := 0
	cluster.WaitUntil("it ticks while the status changes", func() bool {
		beats++
		x.Patch(tree{"status": tree{"heartbeat": beats}})
		return r.count(r.all, "t x") > 0
	})
	x.WaitFor("it has the result", func(o *kopf.Object) bool { return o.Get("status.t") == "value" })
	x.Patch(tree{"status": tree{"heartbeat": "last"}})
	cluster.Create(example("y")) // the timer of y waits for longer than the timer of x would
	r.wait(cluster, "t y", 0, 1)
	if n := r.count(r.all, "t x"); n != 1 {
		t.Errorf("%d ticks without a change", n)
	}
	x.Patch(field("other"))
	x.WaitFor("it has the other result", func(o *kopf.Object) bool { return o.Get("status.t") == "other" })
}

func TestTimer_StatusBecomesSubresource(t *testing.T) {
	cluster := newCluster(t)
	own := kex
	own.group, own.status = cluster.Namespace+".kopf.dev", false
	own.define(cluster)
	var proceed atomic.Bool
	op := cluster.Run(func(reg *kopf.Registry) {
		kopf.Timer(reg, own.selector(), func(_ context.Context, c *tick) error {
			if proceed.Load() {
				c.Result = "written"
			}
			return nil
		}, kopf.ID("t"), kopf.Interval(10*time.Millisecond))
	})
	x := cluster.Create(own.of(example("x")))
	op.WaitLog("Timer 't' succeeded.")
	// The status becomes a subresource: the API server ignores it in other patches.
	own.status = true
	own.define(cluster)
	client := testcluster.Client(t, kube.ClientOptions{}).WithoutRetries()
	cluster.WaitUntil("the status is a subresource", func() bool {
		path := "/apis/" + own.group + "/v1/namespaces/" + cluster.Namespace + "/" + own.plural + "/x/status"
		_, err := client.Do(t.Context(), kube.Request{Method: http.MethodGet, Path: path})
		return err == nil
	})
	proceed.Store(true)
	x.WaitFor("it has the result", func(o *kopf.Object) bool { return o.Get("status.t") == "written" })
}

// ticking returns a timer that takes some time.
func (r *runCounts) ticking(id string, takes time.Duration) func(context.Context, *tick) error {
	return func(_ context.Context, c *tick) error {
		defer r.enter(id + " " + c.Name)()
		time.Sleep(takes)
		return nil
	}
}

func TestTimer_OneAtATime(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	register := func(reg *kopf.Registry) {
		kopf.Timer(reg, kexes, r.ticking("t", 3*time.Millisecond), kopf.ID("t"), kopf.Interval(time.Millisecond))
		kopf.Timer(reg, kexes, r.ticking("f", 10*time.Millisecond), kopf.ID("f"), kopf.Interval(time.Millisecond), kopf.Labels{"on": "yes"})
	}
	op := cluster.Run(register)
	x := cluster.Create(example("x"))
	for i := range 12 {
		on := any(nil)
		if i%2 == 0 {
			on = "yes"
		}
		x.Patch(tree{"metadata": tree{"labels": tree{"on": on}}})
		before := r.count(r.all, "t x")
		switch i % 4 {
		case 1:
			op.Pause()
			op.Resume()
		case 3:
			op.Stop()
			op = cluster.Run(register)
		}
		cluster.WaitUntil("it goes on ticking", func() bool { return r.count(r.all, "t x") > before+3 })
	}
	x.Patch(tree{"metadata": tree{"labels": tree{"on": nil}}})
	phases(op, "x", inspect.StateSettled, "t=ticking", "f=filtered")
	x.Delete()
	x.WaitGone()
	r.wait(cluster, "t x", 0, 1)
	r.wait(cluster, "f x", 0, 1)
	ticks := r.count(r.all, "t x")
	r.neverTwice(t)
	cluster.Create(example("y"))
	r.wait(cluster, "t y", 0, 5) // time enough for another tick
	if now := r.count(r.all, "t x"); now != ticks {
		t.Errorf("it ticks for an object that is gone")
	}
}

func TestTimer_DaemonsAndTimersGetAllArguments(t *testing.T) {
	cluster, done, ticked := newCluster(t), make(chan struct{}, 2), make(chan struct{})
	hasTicked := sync.OnceFunc(func() { close(ticked) })
	began := time.Now()
	type shared struct{ daemon, timer atomic.Bool }
	check := func(what string, ok bool) {
		if !ok {
			t.Errorf("wrong: %s", what)
		}
	}
	cluster.Run(func(reg *kopf.Registry) {
		index := kopf.NewIndex(reg, kexes, func(_ context.Context, p *indexed) (map[string]string, error) {
			return map[string]string{p.Name: p.Name}, nil
		}, kopf.ID("names"))
		kopf.Daemon(reg, kexes, func(ctx context.Context, d *run) error {
			if d.Retry == 0 {
				check("first attempt", d.Runtime >= 0 && time.Since(d.Started) >= d.Runtime && !d.Started.Before(began))
				return kopf.Temporaryf(20*time.Millisecond, "once more")
			}
			check("attempt", d.Retry == 1 && d.Runtime >= 20*time.Millisecond && time.Since(d.Started) >= d.Runtime)
			check("resource", d.Resource.Resource == "kopfexamples" && d.Resource.Group == "kopf.dev")
			check("identity", d.Namespace == cluster.Namespace && d.Name == "x" && string(d.UID) == d.Body().Get("metadata.uid"))
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
			check("identity", c.Namespace == cluster.Namespace && c.Name == "x" && string(c.UID) == c.Body.Get("metadata.uid"))
			check("labels", c.Labels["somelabel"] == "somevalue" && c.Annotations["someannotation"] == "somevalue")
			check("object", c.Object.Get("spec.field") == "value")
			check("param", c.Param == "p")
			check("index", index.Len(ctx) == 1)
			check("tools", c.Logger != nil && c.Recorder != nil && c.Patch != nil)
			done <- struct{}{}
			return nil
		}, kopf.ID("t"), kopf.Interval(time.Millisecond), kopf.Param("p"))
	})
	cluster.Create(example("x"))
	for range 2 {
		receive(cluster, "both are called", done)
	}
}
