package daemons

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

var errOops = errors.New("oops")

func TestDaemon_StartsAndRetires(t *testing.T) {
	runSynctest(t, "there is one of each handler, however often they are adjusted", func(t *testing.T) {
		s := newFakeHost(untilStopped)
		a, b := daemon("a"), daemon("b")
		g := group(t, s)
		for range 3 {
			adjust(g, []*handlers.Handler{a, b})
			synctest.Wait()
		}
		if tasks := g.Tasks(); len(tasks) != 2 || tasks[0].Handler != a || tasks[1].Handler != b {
			t.Errorf("tasks %v", tasks)
		}
		end(t, g)
	})

	runSynctest(t, "one that ended on its own does not start again", func(t *testing.T) {
		s, a := newFakeHost(fine), daemon("a")
		g := group(t, s, a)
		adjust(g, []*handlers.Handler{a})
		synctest.Wait()
		s.expect(t, "0s a retry=0")
		if _, retired := g.Retired()["a"]; !retired || s.countLogLines("DEBUG", "Daemon 'a' has exited on its own") != 1 {
			t.Errorf("it is not retired, or that is not said: %s", &s.logged)
		}
	})

	runSynctest(t, "one that failed permanently does not start again", func(t *testing.T) {
		s, a := newFakeHost(failing(permanent{})), daemon("a")
		g := group(t, s, a)
		adjust(g, []*handlers.Handler{a})
		time.Sleep(time.Hour)
		s.expect(t, "0s a retry=0")
	})

	runSynctest(t, "one that mismatches is stopped, and starts again when it matches", func(t *testing.T) {
		var reasons []Reason
		s := newFakeHost(func(ctx context.Context, _ call) error {
			<-ctx.Done()
			var reason Reason
			errors.As(context.Cause(ctx), &reason)
			reasons = append(reasons, reason)
			return nil
		})
		a := daemon("a")
		g := group(t, s, a)
		if delays := adjust(g, nil); len(delays) > 0 {
			t.Errorf("it is waited for: %v", delays)
		}
		adjust(g, []*handlers.Handler{a})
		synctest.Wait()
		end(t, g)
		if !slices.Equal(reasons, []Reason{FiltersMismatch, OperatorExiting}) {
			t.Errorf("reasons %v", reasons)
		}
		s.expect(t, "0s a retry=0", "0s a retry=0")
	})

	runSynctest(t, "none starts if the host forbids it", func(t *testing.T) {
		s := newFakeHost(untilStopped)
		s.closed = true
		g := group(t, s, daemon("a"))
		if n := len(g.Tasks()); n != 0 {
			t.Errorf("%d tasks run", n)
		}
	})

	runSynctest(t, "one that exits its goroutine has ended", func(t *testing.T) {
		s := newFakeHost(func(_ context.Context, c call) error {
			<-c.Stopping()
			runtime.Goexit()
			return nil
		})
		g := group(t, s, daemon("a"))
		delays := g.Stop(ResourceDeleted)
		synctest.Wait()
		if len(delays) != 0 || s.ends != 1 {
			t.Errorf("delays %v, %d ends", delays, s.ends)
		}
	})

	runSynctest(t, "its sleep ends when it is asked to stop", func(t *testing.T) {
		var s *fakeHost
		s = newFakeHost(func(_ context.Context, c call) error {
			for c.Sleep(10 * time.Second) {
				s.note("slept")
			}
			s.note("asked")
			if c.Sleep(0) || c.Sleep(time.Second) {
				t.Error("it sleeps although it was asked")
			}
			return nil
		})
		g := group(t, s, daemon("a"))
		time.Sleep(25 * time.Second)
		g.Stop(ResourceDeleted)
		s.expect(t, "0s a retry=0", "10s slept", "20s slept", "25s asked")
	})

	runSynctest(t, "it sleeps for no time if it is told so", func(t *testing.T) {
		s := newFakeHost(func(_ context.Context, c call) error {
			if !c.Sleep(0) || !c.Sleep(-time.Second) {
				t.Error("it was not asked to end")
			}
			return nil
		})
		group(t, s, daemon("a"))
		s.expect(t, "0s a retry=0")
	})
}

func TestDaemon_InitialDelay(t *testing.T) {
	runSynctest(t, "comes ahead of the first call", func(t *testing.T) {
		s := newFakeHost(untilStopped)
		g := group(t, s, daemon("a", initially(30)))
		time.Sleep(time.Minute)
		s.expect(t, "30s a retry=0")
		end(t, g)
	})

	runSynctest(t, "is there once for the object", func(t *testing.T) {
		s, a := newFakeHost(untilStopped), daemon("a", initially(30))
		g := group(t, s, a)
		for range 3 { // it matches for 20 seconds of each half a minute
			time.Sleep(20 * time.Second)
			adjust(g, nil)
			time.Sleep(10 * time.Second)
			adjust(g, []*handlers.Handler{a})
		}
		synctest.Wait()
		s.expect(t, "30s a retry=0", "60s a retry=0", "90s a retry=0")
		end(t, g)
	})

	runSynctest(t, "ends at once with a stop, and nothing is called", func(t *testing.T) {
		s := newFakeHost(untilStopped)
		g := group(t, s, daemon("a", initially(30), patient(60, 60, -1)))
		time.Sleep(time.Second)
		if delays := g.Stop(ResourceDeleted); len(delays) != 0 || len(g.Tasks()) != 0 || s.ends != 1 {
			t.Errorf("delays %v, %d tasks, %d ends", delays, len(g.Tasks()), s.ends)
		}
		time.Sleep(time.Minute)
		s.expect(t)
		if s.countLogLines("exited") > 0 {
			t.Errorf("what was never called cannot exit: %s", &s.logged)
		}
	})
}

func TestDaemon_RestartsAfterErrors(t *testing.T) {
	for name, c := range map[string]struct {
		set  []func(*handlers.Handler)
		errs []error
		want []string
	}{
		"after the delay of a temporary one": {
			nil, []error{temporary{10 * time.Second}},
			[]string{"0s a retry=0", "10s a retry=1"},
		},
		"at once, if the delay is none": {
			nil, []error{temporary{0}, temporary{-1}},
			[]string{"0s a retry=0", "0s a retry=1", "0s a retry=2"},
		},
		"after the backoff of an arbitrary one": {
			[]func(*handlers.Handler){backoff(5)}, []error{errOops, errOops},
			[]string{"0s a retry=0", "5s a retry=1", "10s a retry=2"},
		},
		"after a minute, if there is no backoff": {
			nil, []error{errOops},
			[]string{"0s a retry=0", "60s a retry=1"},
		},
		"until one is permanent": {
			[]func(*handlers.Handler){backoff(1), retries(10)},
			[]error{temporary{time.Second}, temporary{time.Second}, temporary{time.Second}, errOops, errOops, permanent{}},
			[]string{"0s a retry=0", "1s a retry=1", "2s a retry=2", "3s a retry=3", "4s a retry=4", "5s a retry=5"},
		},
		"as often as the limit allows": {
			[]func(*handlers.Handler){backoff(1), retries(3)}, []error{errOops, errOops, errOops, errOops},
			[]string{"0s a retry=0", "1s a retry=1", "2s a retry=2"},
		},
		"as long as the timeout allows": {
			[]func(*handlers.Handler){backoff(4), func(h *handlers.Handler) { h.Timeout = seconds(10) }},
			[]error{errOops, errOops, errOops, errOops},
			[]string{"0s a retry=0", "4s a retry=1", "8s a retry=2"},
		},
		"not at all, if they are ignored": {
			[]func(*handlers.Handler){ignoring}, []error{errOops},
			[]string{"0s a retry=0"},
		},
	} {
		runSynctest(t, name, func(t *testing.T) {
			s := newFakeHost(failing(c.errs...))
			g := group(t, s, daemon("a", c.set...))
			time.Sleep(time.Hour)
			s.expect(t, c.want...)
			if _, retired := g.Retired()["a"]; !retired {
				t.Error("it is not over")
			}
		})
	}

	runSynctest(t, "unless it is stopped meanwhile", func(t *testing.T) {
		s := newFakeHost(func(context.Context, call) error { return errOops })
		g := group(t, s, daemon("a"))
		time.Sleep(time.Second)
		if delays := g.Stop(FiltersMismatch); len(delays) != 0 || s.ends != 1 {
			t.Errorf("delays %v, %d ends", delays, s.ends)
		}
		s.expect(t, "0s a retry=0")
	})

	runSynctest(t, "and it is told of the attempts before", func(t *testing.T) {
		s := newFakeHost(nil)
		s.fn = func(_ context.Context, c call) error {
			s.note("started=%gs", c.started.Sub(s.began).Seconds())
			return failing(temporary{2 * time.Second}, temporary{3 * time.Second})(nil, c)
		}
		g := group(t, s, daemon("a", initially(4)))
		time.Sleep(time.Minute)
		s.expect(t, "4s a retry=0", "4s started=4s", "6s a retry=1", "6s started=4s", "9s a retry=2", "9s started=4s")
		end(t, g)
	})
}

func ignoring(h *handlers.Handler) { h.Errors, h.ErrorsSet = handlers.ErrorsIgnored, true }

func TestRetryNow_EndsOnlyDelaysOfErrors(t *testing.T) {
	runSynctest(t, "of tasks that wait", func(t *testing.T) {
		s := newFakeHost(failing(errOops))
		g := group(t, s, daemon("a"), timer("t", interval(1000)), daemon("later", initially(1000)))
		for range 2 {
			time.Sleep(5 * time.Second)
			g.RetryNow(nil)
		}
		time.Sleep(5 * time.Second)
		slices.Sort(s.events) // events of the same time have no order
		s.expect(t, "0s a retry=0", "0s t retry=0", "5s a retry=1", "5s t retry=1")
		end(t, g)
	})

	runSynctest(t, "of tasks that are still delivering", func(t *testing.T) {
		s := &slowDelivery{fakeHost: newFakeHost(failing(errOops)), takes: 3 * time.Second}
		g := group(t, s, daemon("a"))
		time.Sleep(time.Second)
		g.RetryNow(nil)
		time.Sleep(time.Minute)
		s.expect(t, "0s a retry=0", "3s a retry=1")
		end(t, g)
	})

	runSynctest(t, "but not of later failures", func(t *testing.T) {
		s := newFakeHost(func(_ context.Context, c call) error {
			time.Sleep(2 * time.Second)
			return failing(errOops)(nil, c)
		})
		g := group(t, s, daemon("a"))
		time.Sleep(time.Second)
		g.RetryNow(nil)
		time.Sleep(5 * time.Second)
		s.expect(t, "0s a retry=0")
		end(t, g)
	})
}
