package daemons

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// stubborn is a daemon that notes stop requests and the cancellation, and ends only after release closes.
func stubborn(s *fakeHost, release <-chan struct{}) func(context.Context, call) error {
	return func(ctx context.Context, c call) error {
		<-c.Stopping()
		s.note("asked")
		<-ctx.Done()
		s.note("cancelled")
		<-release
		return nil
	}
}

// look stops the tasks as the worker of the object does, until no task remains to stop,
// or for at most the given time. It returns the delays.
func look(g *Group, reason Reason, atMost time.Duration) []time.Duration {
	var delays []time.Duration
	for began := time.Now(); time.Since(began) < atMost; {
		next := g.Stop(reason)
		if len(next) == 0 {
			break
		}
		delays = append(delays, slices.Min(next))
		time.Sleep(slices.Min(next))
	}
	return delays
}

func TestStop_EscalatesForDaemonThatKeepsRunning(t *testing.T) {
	const always = 150 * time.Second
	instant := (10 * time.Millisecond).Seconds()
	for name, c := range map[string]struct {
		set       func(*handlers.Handler)
		want      []string // notes, with the seconds since the start
		looks     []float64
		abandoned bool
	}{
		"with a backoff and a timeout, it is signalled, then cancelled, then abandoned": {
			patient(3, 4, -1), []string{"0s a retry=0", "0s asked", "3s cancelled"}, []float64{3, 4}, true,
		},
		"with a timeout alone, it is cancelled at once": {
			patient(-1, 4, -1), []string{"0s a retry=0", "0s asked", "0s cancelled"}, []float64{4}, true,
		},
		"with a backoff alone, it is checked again and again": {
			patient(3, -1, -1), []string{"0s a retry=0", "0s asked", "3s cancelled"}, []float64{3, 60, 60, 60}, false,
		},
		"with neither, it is checked again and again": {
			patient(-1, -1, -1), []string{"0s a retry=0", "0s asked", "0s cancelled"}, []float64{60, 60, 60}, false,
		},
		"with its own polling interval": {
			patient(-1, -1, 50), []string{"0s a retry=0", "0s asked", "0s cancelled"}, []float64{50, 50, 50}, false,
		},
		"with polling disabled, it is hardly ever checked": {
			patient(-1, -1, 0), []string{"0s a retry=0", "0s asked", "0s cancelled"}, []float64{86400}, false,
		},
		"with a timeout of zero, it is abandoned at once": {
			patient(0, 0, -1), []string{"0s a retry=0", "0s asked", "0s cancelled"}, nil, true,
		},
	} {
		runSynctest(t, name, func(t *testing.T) {
			release := make(chan struct{})
			s := newFakeHost(nil)
			s.fn = stubborn(s, release)
			a := daemon("a", c.set)
			g := group(t, s, a)
			var looks []float64
			for _, d := range look(g, ResourceDeleted, always) {
				looks = append(looks, d.Round(time.Second).Seconds())
			}
			synctest.Wait()
			s.expect(t, c.want...)
			if !slices.Equal(looks, c.looks) {
				t.Errorf("it is looked after after %v seconds, not after %v", looks, c.looks)
			}
			warned := s.countLogLines("WARN", "Daemon 'a' did not exit in time. Leaving it orphaned.")
			if polled := s.countLogLines("DEBUG", "Daemon 'a' is still exiting."); (warned == 1) != c.abandoned || (polled > 0) == c.abandoned {
				t.Errorf("there are %d warnings, and it is polled %d times:\n%s", warned, polled, &s.logged)
			}
			if g.Stop(OperatorExiting); s.countLogLines("WARN") != warned {
				t.Errorf("it is abandoned twice:\n%s", &s.logged)
			}
			if adjust(g, []*handlers.Handler{a}); len(g.Tasks()) != 1 {
				t.Error("it has got a second one beside it")
			}
			if took := time.Since(s.began).Seconds(); c.abandoned && took > 7+3*instant {
				t.Errorf("it was abandoned after %g seconds", took)
			}
			close(release)
			synctest.Wait()
			if delays := g.Stop(ResourceDeleted); len(delays) != 0 || s.ends != 1 {
				t.Errorf("delays %v, %d ends", delays, s.ends)
			}
			if s.countLogLines("DEBUG", "Daemon 'a' has exited on request") != 1 {
				t.Errorf("its end is not told:\n%s", &s.logged)
			}
		})
	}
}

func TestStop(t *testing.T) {
	runSynctest(t, "a task that matches again while it stops ends first, and then starts again", func(t *testing.T) {
		s := newFakeHost(nil)
		s.fn = func(ctx context.Context, _ call) error {
			<-ctx.Done() // it knows nothing but its context
			s.note("cancelled")
			return nil
		}
		h := daemon("a", patient(5, -1, -1))
		g := group(t, s, h)
		adjust(g, nil)
		time.Sleep(time.Second)
		delays := adjust(g, []*handlers.Handler{h})
		if len(delays) != 1 {
			t.Fatalf("no check is scheduled: %v", delays)
		}
		time.Sleep(delays[0])
		adjust(g, []*handlers.Handler{h})
		adjust(g, []*handlers.Handler{h})
		synctest.Wait()
		s.expect(t, "0s a retry=0", "5s cancelled", "5s a retry=0")
		end(t, g)
	})

	runSynctest(t, "tasks that end at once need no check", func(t *testing.T) {
		s := newFakeHost(func(ctx context.Context, c call) error {
			if c.Handler.ID == "asked" {
				return untilStopped(ctx, c)
			}
			<-ctx.Done()
			time.Sleep(5 * time.Millisecond)
			return nil
		})
		g := group(t, s, daemon("asked", patient(60, 60, -1)), daemon("cancelled"), timer("t", interval(60)))
		if delays := g.Stop(OperatorPausing); len(delays) > 0 {
			t.Errorf("delays %v", delays)
		}
		end(t, g)
	})

	runSynctest(t, "a task that is stopped before its first step never takes it", func(t *testing.T) {
		s := newFakeHost(fine)
		g := NewGroup(t.Context(), s, Settings{}, version(1))
		task, _ := g.add(daemon("a"))
		g.Stop(ResourceDeleted)
		task.begin(0)
		synctest.Wait()
		s.expect(t)
		if s.ends != 1 || len(g.Tasks()) != 0 {
			t.Errorf("%d ends, %d tasks", s.ends, len(g.Tasks()))
		}
	})

	runSynctest(t, "abandoned tasks do not delay the wait for the others", func(t *testing.T) {
		stuck, slow := daemon("stuck", patient(-1, 1, -1)), daemon("slow")
		release := make(chan struct{})
		s := newFakeHost(func(_ context.Context, c call) error {
			<-c.Stopping()
			if c.Handler == stuck {
				<-release
				return nil
			}
			time.Sleep(3 * time.Second)
			return nil
		})
		g := group(t, s, stuck, slow)
		began := time.Now()
		g.Wait(t.Context(), OperatorExiting)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %s", took)
		}
		if left := g.Tasks(); len(left) != 1 || left[0].Handler != stuck {
			t.Errorf("left: %v", left)
		}
		close(release)
	})

	runSynctest(t, "the wait ends with its context", func(t *testing.T) {
		release := make(chan struct{})
		g := group(t, newFakeHost(func(context.Context, call) error { <-release; return nil }), daemon("a"))
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		began := time.Now()
		g.Wait(ctx, OperatorPausing)
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("it took %s", took)
		}
		close(release)
	})

	runSynctest(t, "all reasons are reported", func(t *testing.T) {
		var told Reason
		g := group(t, newFakeHost(func(_ context.Context, c call) error {
			<-c.Stopping()
			time.Sleep(time.Second)
			told = c.Reason()
			return nil
		}), daemon("a", patient(60, -1, -1)))
		g.Stop(FiltersMismatch)
		g.Stop(OperatorExiting)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if told != FiltersMismatch|OperatorExiting {
			t.Errorf("told: %v", told)
		}
	})

	runSynctest(t, "the context of a finished call has ended", func(t *testing.T) {
		var contexts []context.Context
		s := newFakeHost(func(ctx context.Context, c call) error {
			contexts = append(contexts, ctx)
			return failing(temporary{time.Second})(ctx, c)
		})
		g := group(t, s, daemon("a"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for i, ctx := range contexts {
			if ctx.Err() == nil {
				t.Errorf("that of the call %d goes on", i)
			}
		}
		end(t, g)
	})
}

func TestReason_ErrorListsAllReasons(t *testing.T) {
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
