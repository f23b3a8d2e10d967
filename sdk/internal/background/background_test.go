package background

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scene is a host whose handlers are functions, and that writes down what happens, with
// the seconds since its start.
type scene struct {
	began time.Time
	fn    func(ctx context.Context, task *Task, retries int) error

	closed bool // nothing may start

	mu    sync.Mutex
	calls []string
	ends  int
}

func newScene(fn func(ctx context.Context, task *Task, retries int) error) *scene {
	return &scene{began: time.Now(), fn: fn}
}

func (s *scene) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, fmt.Sprintf("%gs ", time.Since(s.began).Seconds())+fmt.Sprintf(format, args...))
}

func (s *scene) MayStart() bool { return !s.closed }

func (s *scene) Attempt(ctx context.Context, task *Task, retries int, started time.Time) outcome.Outcome {
	s.note("%s retry=%d", task.Handler.ID, retries)
	out, _ := outcome.Decide(s.fn(ctx, task, retries), nil, task.Handler.Limits(), retries, time.Since(started), task.String())
	return out
}

func (s *scene) Deliver(context.Context, *Task, outcome.Outcome) {}

func (s *scene) Ended(*Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends++
}

// expect compares what has happened so far.
func (s *scene) expect(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.calls, want) {
		t.Errorf("got  %q\nwant %q", s.calls, want)
	}
}

func group(t *testing.T, host Host) *Group {
	t.Helper()
	g := NewGroup(t.Context(), host, Settings{Polling: time.Minute, InstantExit: 10 * time.Millisecond},
		slog.New(slog.DiscardHandler), &wire.Object{Name: "x", ResourceVersion: "1"})
	return g
}

// end stops all tasks that are left, so that the test leaves none behind.
func end(t *testing.T, g *Group) {
	t.Helper()
	g.Wait(t.Context(), OperatorExiting)
	if left := g.Tasks(); len(left) > 0 {
		t.Errorf("%d tasks are left", len(left))
	}
}

func seconds(n float64) *time.Duration {
	d := time.Duration(n * float64(time.Second))
	return &d
}

func daemon(id string) *handler.Handler { return &handler.Handler{ID: id, Family: handler.Daemon} }

func timer(id string) *handler.Handler { return &handler.Handler{ID: id, Family: handler.Timer} }

// permanent is an error that is not to be tried again.
type permanent struct{}

func (*permanent) Error() string  { return "never again" }
func (*permanent) KopfPermanent() {}

// untilStopped is a daemon that does as it is asked.
func untilStopped(_ context.Context, task *Task, _ int) error {
	<-task.Stopping()
	return nil
}

func virtually(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestDaemons(t *testing.T) {
	virtually(t, "there is one of each handler, however often they are adjusted", func(t *testing.T) {
		s := newScene(untilStopped)
		g := group(t, s)
		for range 3 {
			g.Adjust([]*handler.Handler{daemon("a"), daemon("b")})
			synctest.Wait()
		}
		if n := len(g.Tasks()); n != 2 {
			t.Errorf("%d tasks run", n)
		}
		end(t, g)
	})

	virtually(t, "one that has ended by itself is not started again", func(t *testing.T) {
		s := newScene(func(context.Context, *Task, int) error { return nil })
		g := group(t, s)
		for range 2 {
			g.Adjust([]*handler.Handler{daemon("a")})
			synctest.Wait()
		}
		s.expect(t, "0s a retry=0")
		if _, retired := g.Retired()["a"]; !retired {
			t.Error("it is not retired")
		}
	})

	virtually(t, "one that mismatches is stopped, and started again when it matches", func(t *testing.T) {
		var reasons []Reason
		s := newScene(func(ctx context.Context, task *Task, _ int) error {
			<-ctx.Done()
			var reason Reason
			errors.As(context.Cause(ctx), &reason)
			reasons = append(reasons, reason)
			return nil
		})
		g := group(t, s)
		g.Adjust([]*handler.Handler{daemon("a")})
		synctest.Wait()
		if delays := g.Adjust(nil); len(delays) > 0 {
			t.Errorf("it is waited for: %v", delays)
		}
		g.Adjust([]*handler.Handler{daemon("a")})
		synctest.Wait()
		end(t, g)
		if !slices.Equal(reasons, []Reason{FiltersMismatch, OperatorExiting}) {
			t.Errorf("reasons %v", reasons)
		}
		s.expect(t, "0s a retry=0", "0s a retry=0")
	})

	virtually(t, "errors restart one after their delays", func(t *testing.T) {
		h := daemon("a")
		h.Backoff = seconds(5)
		s := newScene(func(_ context.Context, task *Task, retries int) error {
			if retries < 2 {
				return errors.New("oops")
			}
			return nil
		})
		g := group(t, s)
		g.Adjust([]*handler.Handler{h})
		time.Sleep(time.Minute)
		s.expect(t, "0s a retry=0", "5s a retry=1", "10s a retry=2")
	})

	virtually(t, "a stop interrupts the delay of an error", func(t *testing.T) {
		s := newScene(func(context.Context, *Task, int) error { return errors.New("oops") })
		g := group(t, s)
		g.Adjust([]*handler.Handler{daemon("a")})
		synctest.Wait()
		end(t, g)
		if since := time.Since(s.began); since > time.Second {
			t.Errorf("it took %s", since)
		}
	})

	virtually(t, "the initial delay comes first", func(t *testing.T) {
		h := daemon("a")
		h.InitialDelay = seconds(7)
		s := newScene(untilStopped)
		g := group(t, s)
		g.Adjust([]*handler.Handler{h})
		time.Sleep(10 * time.Second)
		s.expect(t, "7s a retry=0")
		end(t, g)
	})
}

func TestOneThatDoesNotEndIsPushed(t *testing.T) {
	virtually(t, "first asked, then cancelled, then abandoned", func(t *testing.T) {
		h := daemon("a")
		h.CancellationBackoff, h.CancellationTimeout = seconds(3), seconds(4)
		release := make(chan struct{})
		var s *scene
		s = newScene(func(ctx context.Context, task *Task, _ int) error {
			<-task.Stopping()
			s.note("asked")
			<-ctx.Done()
			s.note("cancelled")
			<-release
			return nil
		})
		g := group(t, s)
		g.Adjust([]*handler.Handler{h})
		synctest.Wait()
		var waits []time.Duration
		for {
			delays := g.Stop(ResourceDeleted)
			if len(delays) == 0 {
				break
			}
			waits = append(waits, delays[0].Round(time.Second))
			time.Sleep(delays[0])
		}
		if !slices.Equal(waits, []time.Duration{3 * time.Second, 4 * time.Second}) {
			t.Errorf("waits %v", waits)
		}
		if g.Adjust([]*handler.Handler{h}); len(g.Tasks()) != 1 {
			t.Error("an abandoned daemon has got a second one beside it")
		}
		close(release)
		synctest.Wait()
	})

	virtually(t, "with no timeout, it is looked after again and again", func(t *testing.T) {
		release := make(chan struct{})
		s := newScene(func(context.Context, *Task, int) error { <-release; return nil })
		g := group(t, s)
		g.Adjust([]*handler.Handler{daemon("a")})
		synctest.Wait()
		for range 3 {
			if delays := g.Stop(ResourceDeleted); len(delays) != 1 || delays[0] != time.Minute {
				t.Errorf("delays %v", delays)
			}
		}
		close(release)
		synctest.Wait()
		if delays := g.Stop(ResourceDeleted); len(delays) != 0 || s.ends != 1 {
			t.Errorf("delays %v, %d ends", delays, s.ends)
		}
	})
}

func TestTimers(t *testing.T) {
	fine := func(context.Context, *Task, int) error { return nil }
	slow := func(_ context.Context, task *Task, _ int) error { time.Sleep(7 * time.Second); return nil }

	for name, c := range map[string]struct {
		set  func(h *handler.Handler)
		fn   func(context.Context, *Task, int) error
		want []string
	}{
		"the interval is between the end of a tick and the next": {
			func(h *handler.Handler) { h.Interval = seconds(5) }, slow,
			[]string{"0s t retry=0", "12s t retry=0", "24s t retry=0"},
		},
		"a sharp interval is between their starts, on its grid": {
			func(h *handler.Handler) { h.Interval, h.Sharp = seconds(5), true }, slow,
			[]string{"0s t retry=0", "10s t retry=0", "20s t retry=0"},
		},
		"the first tick waits for the initial delay": {
			func(h *handler.Handler) { h.Interval, h.InitialDelay = seconds(10), seconds(3) }, fine,
			[]string{"3s t retry=0", "13s t retry=0", "23s t retry=0"},
		},
		"an idle timer waits until the object is at rest": {
			func(h *handler.Handler) { h.Interval, h.Idle = seconds(10), seconds(8) }, fine,
			[]string{"8s t retry=0", "18s t retry=0", "28s t retry=0"},
		},
		"an idle timer with no interval ticks once for each change": {
			func(h *handler.Handler) { h.Idle = seconds(8) }, fine,
			[]string{"8s t retry=0"},
		},
		"a permanent error ends the timer": {
			func(h *handler.Handler) { h.Interval = seconds(2) },
			func(_ context.Context, _ *Task, retries int) error {
				return &permanent{}
			},
			[]string{"0s t retry=0"},
		},
		"so do errors beyond its limits": {
			func(h *handler.Handler) { h.Interval, h.Backoff, h.Retries = seconds(5), seconds(2), new(2) },
			func(context.Context, *Task, int) error { return errors.New("oops") },
			[]string{"0s t retry=0", "2s t retry=1"},
		},
		"errors that are ignored do not change the schedule": {
			func(h *handler.Handler) {
				h.Interval, h.Errors, h.ErrorsSet = seconds(10), outcome.ErrorsIgnored, true
			},
			func(context.Context, *Task, int) error { return errors.New("oops") },
			[]string{"0s t retry=0", "10s t retry=0", "20s t retry=0"},
		},
		"all of it combined": {
			func(h *handler.Handler) {
				h.InitialDelay, h.Idle, h.Interval, h.Sharp = seconds(4), seconds(6), seconds(5), true
			}, slow,
			[]string{"6s t retry=0", "16s t retry=0", "26s t retry=0"},
		},
		"errors override the interval and keep their count": {
			func(h *handler.Handler) { h.Interval, h.Backoff = seconds(20), seconds(2) },
			func(_ context.Context, _ *Task, retries int) error {
				if retries < 2 {
					return errors.New("oops")
				}
				return nil
			},
			[]string{"0s t retry=0", "2s t retry=1", "4s t retry=2", "24s t retry=0", "26s t retry=1", "28s t retry=2"},
		},
	} {
		virtually(t, name, func(t *testing.T) {
			h := timer("t")
			c.set(h)
			s := newScene(c.fn)
			g := group(t, s)
			g.Adjust([]*handler.Handler{h})
			time.Sleep(29 * time.Second)
			s.expect(t, c.want...)
			end(t, g)
		})
	}

	virtually(t, "a change makes an idle timer wait anew", func(t *testing.T) {
		h := timer("t")
		h.Idle = seconds(10)
		s := newScene(fine)
		g := group(t, s)
		g.Adjust([]*handler.Handler{h})
		for version := range 3 {
			time.Sleep(6 * time.Second)
			g.Update(&wire.Object{ResourceVersion: fmt.Sprint(version + 2)}, true)
		}
		time.Sleep(20 * time.Second)
		g.Update(&wire.Object{ResourceVersion: "9"}, false) // a change of nothing that matters
		time.Sleep(20 * time.Second)
		g.Update(&wire.Object{ResourceVersion: "10"}, true)
		time.Sleep(20 * time.Second)
		s.expect(t, "28s t retry=0", "68s t retry=0")
		end(t, g)
	})

	virtually(t, "a day of ticks takes no time", func(t *testing.T) {
		h := timer("t")
		h.Interval = seconds(60)
		ticks := 0
		g := group(t, newScene(func(context.Context, *Task, int) error { ticks++; return nil }))
		g.Adjust([]*handler.Handler{h})
		time.Sleep(24*time.Hour - time.Second)
		end(t, g)
		if ticks != 24*60 {
			t.Errorf("%d ticks", ticks)
		}
	})
}

func TestTasksSeeTheNewestVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		s := newScene(func(ctx context.Context, task *Task, _ int) error {
			for {
				newer := task.Newer()
				seen = append(seen, task.Live().ResourceVersion)
				select {
				case <-newer:
				case <-task.Stopping():
					return nil
				}
			}
		})
		g := group(t, s)
		g.Adjust([]*handler.Handler{daemon("a")})
		synctest.Wait()
		for _, version := range []string{"2", "3"} {
			g.Update(&wire.Object{ResourceVersion: version}, true)
			synctest.Wait()
		}
		end(t, g)
		if !slices.Equal(seen, []string{"1", "2", "3"}) {
			t.Errorf("seen %v", seen)
		}
	})
}

func TestReasonsAreListedAsAnError(t *testing.T) {
	for reason, want := range map[Reason]string{
		0:                                 "no reason to stop",
		ResourceDeleted:                   "stopped: resource deleted",
		FiltersMismatch | OperatorExiting: "stopped: filters mismatch, operator exiting",
	} {
		if got := reason.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
