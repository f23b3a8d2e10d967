package background

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handler"
	"github.com/kopf-dev/kopf/sdk/internal/wire"
)

func TestStops(t *testing.T) {
	virtually(t, "one that matches again while it ends is brought to its end, and started again", func(t *testing.T) {
		h := daemon("a")
		h.CancellationBackoff = seconds(5)
		var s *scene
		s = newScene(func(ctx context.Context, _ *Task, _ int) error {
			<-ctx.Done() // it knows nothing but its context
			s.note("cancelled")
			return nil
		})
		g := group(t, s)
		g.Adjust([]*handler.Handler{h})
		synctest.Wait()
		g.Adjust(nil)
		time.Sleep(time.Second)
		delays := g.Adjust([]*handler.Handler{h})
		if len(delays) != 1 {
			t.Fatalf("nobody looks after it: %v", delays)
		}
		time.Sleep(delays[0])
		g.Adjust([]*handler.Handler{h})
		g.Adjust([]*handler.Handler{h})
		synctest.Wait()
		s.expect(t, "0s a retry=0", "5s cancelled", "5s a retry=0")
		end(t, g)
	})

	virtually(t, "nothing is started that may not be", func(t *testing.T) {
		s := newScene(untilStopped)
		s.closed = true
		g := group(t, s)
		g.Adjust([]*handler.Handler{daemon("a")})
		if n := len(g.Tasks()); n != 0 {
			t.Errorf("%d tasks run", n)
		}
	})

	virtually(t, "one that ends its goroutine has ended", func(t *testing.T) {
		s := newScene(func(_ context.Context, task *Task, _ int) error {
			<-task.Stopping()
			runtime.Goexit()
			return nil
		})
		g := group(t, s)
		g.Adjust([]*handler.Handler{daemon("a")})
		synctest.Wait()
		delays := g.Stop(ResourceDeleted)
		synctest.Wait()
		if len(delays) != 0 || s.ends != 1 {
			t.Errorf("delays %v, %d ends", delays, s.ends)
		}
	})

	virtually(t, "abandoned ones do not keep those who wait for the others", func(t *testing.T) {
		stuck, slow := daemon("stuck"), daemon("slow")
		stuck.CancellationTimeout = seconds(1)
		release := make(chan struct{})
		s := newScene(func(_ context.Context, task *Task, _ int) error {
			<-task.Stopping()
			if task.Handler == stuck {
				<-release
				return nil
			}
			time.Sleep(3 * time.Second)
			return nil
		})
		g := group(t, s)
		g.Adjust([]*handler.Handler{stuck, slow})
		synctest.Wait()
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

	virtually(t, "who waits gives up in the end", func(t *testing.T) {
		release := make(chan struct{})
		g := group(t, newScene(func(context.Context, *Task, int) error { <-release; return nil }))
		g.Adjust([]*handler.Handler{daemon("a")})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		began := time.Now()
		g.Wait(ctx, OperatorPausing)
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("it took %s", took)
		}
		close(release)
	})

	virtually(t, "all reasons are told", func(t *testing.T) {
		h := daemon("a")
		h.CancellationBackoff = seconds(60)
		var told Reason
		g := group(t, newScene(func(ctx context.Context, task *Task, _ int) error {
			<-task.Stopping()
			time.Sleep(time.Second)
			told = task.Reason()
			return nil
		}))
		g.Adjust([]*handler.Handler{h})
		synctest.Wait()
		g.Stop(FiltersMismatch)
		g.Stop(OperatorExiting)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if told != FiltersMismatch|OperatorExiting {
			t.Errorf("told: %v", told)
		}
	})
}

func TestAHurryEndsTheDelaysOfErrorsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(func(_ context.Context, task *Task, retries int) error {
			if retries == 0 {
				return errors.New("oops")
			}
			return nil
		})
		g := group(t, s)
		tick := timer("t")
		tick.Interval = seconds(1000)
		g.Adjust([]*handler.Handler{daemon("a"), tick})
		for range 2 {
			time.Sleep(5 * time.Second)
			g.Hurry()
		}
		time.Sleep(5 * time.Second)
		if len(s.calls) != 4 || s.calls[2][:2] != "5s" || s.calls[3][:2] != "5s" {
			t.Errorf("%q", s.calls)
		}
		end(t, g)
	})
}

func TestTheOwnVersionIsNotHiddenByOlderOnes(t *testing.T) {
	version := func(v string) *wire.Object { return &wire.Object{ResourceVersion: v} }
	g := NewGroup(t.Context(), newScene(nil), Settings{}, nil, version("5"))
	for _, step := range []struct {
		wrote bool
		seen  string
		live  string
	}{
		{false, "6", "6"},
		{true, "9", "9"},
		{false, "7", "9"},
		{true, "8", "9"},
		{false, "9", "9"},
		{false, "3", "3"}, // a restored cluster: what is seen counts
	} {
		newer := g.Newer()
		before := g.Live()
		if step.wrote {
			g.Wrote(version(step.seen))
		} else {
			g.Update(version(step.seen), false)
		}
		if live := g.Live().ResourceVersion; live != step.live {
			t.Errorf("%+v: %s", step, live)
		}
		select {
		case <-newer:
		default:
			if g.Live() != before {
				t.Errorf("%+v: it is not told", step)
			}
		}
	}
}
