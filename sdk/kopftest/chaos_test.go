package kopftest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestChaos_OperatorSurvives(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	var mu sync.Mutex
	sizes := map[string]int{}
	register := func(r *kopf.Registry) {
		handle := func(_ context.Context, c *request) error {
			mu.Lock()
			defer mu.Unlock()
			sizes[c.Name] = kopf.GetOr(c.Body, "spec.size", 0)
			return nil
		}
		kopf.OnCreate(r, widgets, handle, kopf.ID("create"))
		kopf.OnUpdate(r, widgets, handle, kopf.ID("update"))
		kopf.OnDelete(r, widgets, handle, kopf.ID("delete"))
	}
	plan := Chaos(Seed(t))
	plan.KillWithin, plan.Weather = 6, time.Second
	cluster.timeout = 2 * time.Minute // what goes wrong costs time
	chaos := plan.Run(cluster, register)
	objects := map[string]*Object{}
	size := 0
	cluster.WaitUntil("enough has gone wrong", func() bool {
		size++
		name := fmt.Sprint("w", size%5)
		if objects[name] == nil {
			objects[name] = cluster.Create(fmt.Sprintf("{apiVersion: kopftest.kopf.dev/v1, kind: Widget, metadata: {name: %s}, spec: {size: %d}}", name, size))
		} else {
			objects[name].Set("spec.size", size)
		}
		stats := chaos.Stats()
		return stats.Kills >= 2 && len(stats.Weather) > 1 && len(stats.Faults) >= 5
	})
	operator := chaos.Calm()
	t.Log(chaos.Stats())
	for name, object := range objects {
		operator.WaitHandled(object)
		want := kopf.GetOr(object.Get(), "spec.size", 0)
		mu.Lock()
		if sizes[name] != want {
			t.Errorf("the last call for %s was with size %d, want %d", name, sizes[name], want)
		}
		mu.Unlock()
		object.Delete()
		object.WaitGone()
	}
	if s := chaos.Stats(); s.Lives != s.Kills+s.Stops+s.Failed+1 || chaos.Life() != s.Lives {
		t.Errorf("%d lives do not fit %+v", chaos.Life(), s)
	}
}

func TestChaos_StartThatFailsDuringTheCalmIsRepeated(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	refusing := make(chan struct{})
	refuse := sync.OnceFunc(func() { close(refusing) })
	var run *ChaosRun
	started := make(chan struct{})
	plan := ChaosPlan{Rules: []FaultRule{{Fault: Fault{Kind: FaultStatus, Code: http.StatusUnauthorized}, Match: func(*http.Request) bool {
		<-started
		refuse()
		<-run.calming
		return run.Life() == 1
	}}}}
	run = plan.Run(cluster, func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { return nil }, kopf.ID("create"))
	})
	close(started)
	<-refusing
	run.Calm() // it fails the test if the operator has ended
	if s := run.Stats(); s.Lives != 2 || s.Failed != 1 {
		t.Errorf("the start was not repeated: %+v", s)
	}
}

func TestChaos_WrongRegistrationFailsTest(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	d := &erring{TB: t}
	sub := cluster.With(d)
	run := ChaosPlan{}.Run(sub, func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { return nil }, kopf.ID(""))
	})
	run.ended.Wait()
	if !strings.Contains(d.failure, "does not start, for the 1. time") {
		t.Errorf("failed with %q", d.failure)
	}
}

func TestChaos_WeatherThatCannotBeMadeFailsTest(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	d := &erring{TB: t}
	proxy := cluster.With(d).FaultProxy(Faults{})
	stranger, err := newAuthority()
	if err != nil {
		t.Fatal(err)
	}
	proxy.ca.cert = stranger.cert // no certificate can be issued with the key of another
	// The seed begins with the certificate.
	run := &ChaosRun{
		plan: ChaosPlan{Seed: 6, Weather: time.Millisecond}, cluster: proxy.c, Proxy: proxy, calming: make(chan struct{}),
		stats: ChaosStats{Weather: map[string]int{}},
	}
	run.ended.Go(run.weather)
	run.ended.Wait()
	if !strings.Contains(d.failure, "certificate replaced: create the certificate of a server") {
		t.Errorf("failed with %q", d.failure)
	}
	if run.stats.Weather["certificate replaced"] != 0 {
		t.Error("it is counted")
	}
}

// erring is a test that may have errors, to see which.
type erring struct {
	testing.TB
	failure string
}

func (e *erring) Errorf(format string, args ...any) { e.failure += fmt.Sprintf(format, args...) }

func TestClock_JumpsDecideAboutRetries(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	var clock Clock
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(_ context.Context, c *request) error {
			if c.Retry == 0 {
				return kopf.Temporaryf(time.Hour, "not yet")
			}
			return nil
		}, kopf.ID("create"))
	}, clock.Use)
	object := cluster.Apply(widget)
	operator.WaitRetrying(object)
	clock.Jump(2 * time.Hour)
	object.Set("metadata.labels.touched", "yes")    // the operator handles the object again
	operator.WaitLog("Handler 'create' succeeded.") // WaitHandled does not wait for a retry in an hour
	operator.WaitHandled(object)
	clock.Correct()
	if off := time.Since(clock.Now()).Abs(); off > time.Hour {
		t.Errorf("the clock is wrong by %s", off)
	}
}

func TestFaultProxy_KillEndsAllRequests(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprint("after effect ", after), func(t *testing.T) {
			t.Parallel()
			cluster := New(t)
			cluster.Apply(widgetsCRD)
			proxy := cluster.FaultProxy(Faults{Rules: []FaultRule{
				{Match: Requests("PATCH", "widgets"), Fault: Fault{Kind: FaultKill, AfterEffect: after}, Times: 1},
			}})
			if proxy.Killed() != nil {
				t.Error("no operator was connected yet")
			}
			operator := cluster.Run(func(r *kopf.Registry) {
				kopf.OnDelete(r, widgets, func(context.Context, *request) error { return nil }, kopf.ID("delete"))
			}, proxy.Connect)
			object := cluster.Apply(widget)
			<-proxy.Killed()
			operator.Kill()
			if held := object.Get().Get("metadata.finalizers") != nil; held != after {
				t.Errorf("the finalizer is there: %t", held)
			}
			operator.Start() // it is connected again, as another one
			object.Delete()
			object.WaitGone()
		})
	}
}
