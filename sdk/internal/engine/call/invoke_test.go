package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// endedAttempts is a subscriber that collects the AttemptEnded events.
type endedAttempts struct{ all []observe.AttemptEnded }

func (*endedAttempts) Kinds() []observe.Kind { return []observe.Kind{observe.KindAttemptEnded} }

func (e *endedAttempts) Receive(event observe.Event) {
	e.all = append(e.all, event.(observe.AttemptEnded))
}

func newTestInvoker(limit int) (*Invoker, *endedAttempts) {
	sink, ended := &observe.Sink{}, &endedAttempts{}
	sink.Subscribe(ended)
	return NewInvoker(time.Now, sink, limit), ended
}

func newTestAttempt(family handlers.Family, fn func(context.Context) (any, error)) *Attempt {
	h := &handlers.Handler{ID: "fn", Family: family, Invoke: func(ctx context.Context, _ *handlers.Call) (any, error) { return fn(ctx) }}
	return &Attempt{
		Subject: &observe.Subject{Logger: slog.New(slog.DiscardHandler)}, Call: &handlers.Call{Handler: h}, Backoff: time.Minute,
	}
}

func TestInvoker_PanicBecomesError(t *testing.T) {
	i, ended := newTestInvoker(0)
	out, counts := i.Try(t.Context(), newTestAttempt(handlers.Create, func(context.Context) (any, error) { panic("oh") }))
	var panicked *handlers.PanicError
	if !counts || out.Final || !errors.As(out.Err, &panicked) || out.Delay == nil || *out.Delay != time.Minute {
		t.Errorf("outcome: %+v, counts: %t", out, counts)
	}
	if len(ended.all) != 1 || !errors.As(ended.all[0].Err, &panicked) {
		t.Errorf("told: %+v", ended.all)
	}
}

func TestInvoker_GrowingBackoffDependsOnTheObject(t *testing.T) {
	delay := func(uid string, retries int) time.Duration {
		i, _ := newTestInvoker(0)
		a := newTestAttempt(handlers.Create, func(context.Context) (any, error) { return nil, errors.New("boom") })
		a.Call.Handler.Backoff, a.Call.Handler.MaxBackoff = new(time.Minute), new(time.Hour)
		a.Call.Cause, a.Retries, a.Started = &handlers.Cause{Object: &object.Object{UID: uid}}, retries, time.Now()
		out, _ := i.Try(t.Context(), a)
		return *out.Delay
	}
	first, again, second, other := delay("a", 0), delay("a", 0), delay("a", 1), delay("b", 0)
	if first != again || first == other || second < 96*time.Second {
		t.Errorf("a: %s, %s, then %s; b: %s", first, again, second, other)
	}
}

func TestInvoker_ExhaustedHandlerIsNotCalled(t *testing.T) {
	i, ended := newTestInvoker(0)
	a := newTestAttempt(handlers.Create, func(context.Context) (any, error) { t.Error("called"); return nil, nil })
	a.Call.Handler.Retries, a.Retries, a.Started = new(3), 3, time.Now()
	if out, counts := i.Try(t.Context(), a); !counts || !out.Final || !errors.Is(out.Err, handlers.ErrAttempts) {
		t.Errorf("outcome: %+v, counts: %t", out, counts)
	}
	if len(ended.all) != 1 || !ended.all[0].Exhausted {
		t.Errorf("told: %+v", ended.all)
	}
}

func TestInvoker_TimeoutCountsFromFirstAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, _ := newTestInvoker(0)
		a := newTestAttempt(handlers.Create, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
		a.Call.Handler.Timeout, a.Retries, a.Started = new(10*time.Second), 1, time.Now().Add(-7*time.Second)
		began := time.Now()
		out, _ := i.Try(t.Context(), a)
		if took := time.Since(began); took != 3*time.Second || !out.Final || !errors.Is(out.Err, handlers.ErrTimeout) {
			t.Errorf("after %s: %+v", took, out)
		}
	})
}

func TestInvoker_AttemptTimeoutIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, _ := newTestInvoker(0)
		a := newTestAttempt(handlers.Create, func(ctx context.Context) (any, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		a.Call.Handler.AttemptTimeout, a.Call.Handler.Timeout = new(time.Second), new(time.Hour)
		a.Retries, a.Started = 1, time.Now().Add(-time.Minute)
		out, counts := i.Try(t.Context(), a)
		if took := a.Ended.Sub(a.Began); !counts || out.Final || !errors.Is(out.Err, handlers.ErrAttemptTimeout) || took != time.Second {
			t.Errorf("outcome: %+v, counts: %t, after %s", out, counts, took)
		}
	})
}

func TestInvoker_TotalTimeoutEndsBeforeTheAttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i, _ := newTestInvoker(0)
		a := newTestAttempt(handlers.Create, func(ctx context.Context) (any, error) {
			<-ctx.Done()
			return nil, errors.New("interrupted")
		})
		a.Call.Handler.AttemptTimeout, a.Call.Handler.Timeout = new(time.Hour), new(2*time.Minute)
		a.Retries, a.Started = 1, time.Now().Add(-time.Minute)
		out, _ := i.Try(t.Context(), a)
		if took := a.Ended.Sub(a.Began); !out.Final || !errors.Is(out.Err, handlers.ErrTimeout) || errors.Is(out.Err, handlers.ErrAttemptTimeout) || took != time.Minute {
			t.Errorf("outcome: %+v, after %s", out, took)
		}
	})
}

func TestInvoker_InterruptedAttemptDoesNotCount(t *testing.T) {
	for family, want := range map[handlers.Family]bool{
		handlers.Create: false, handlers.Sub: false, handlers.Index: false, handlers.Startup: false, handlers.Event: true, handlers.Timer: true,
	} {
		i, ended := newTestInvoker(0)
		ctx, stop := context.WithCancel(t.Context())
		_, counts := i.Try(ctx, newTestAttempt(family, func(context.Context) (any, error) { stop(); return nil, ctx.Err() }))
		if counts != want || len(ended.all) > 0 != want {
			t.Errorf("%s: counts: %t, told: %v", family, counts, ended.all)
		}
	}
}

func TestInvoker_FencedAttemptDoesNotCount(t *testing.T) {
	for _, family := range []handlers.Family{handlers.Create, handlers.Sub, handlers.Reconcile, handlers.Event, handlers.Timer, handlers.Daemon} {
		for _, fenced := range []error{core.ErrStopping, fence.ErrLapsed} {
			i, ended := newTestInvoker(0)
			_, counts := i.Try(t.Context(), newTestAttempt(family, func(context.Context) (any, error) { return nil, fmt.Errorf("apply: %w", fenced) }))
			if counts || len(ended.all) > 0 {
				t.Errorf("%s, %v: counts: %t, told: %v", family, fenced, counts, ended.all)
			}
		}
	}
}

func TestInvoker_LimitsHandlersThatRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewInvoker(time.Now, nil, 1)
		var order []string
		attempt := func(name string, s *Slot) {
			a := newTestAttempt(handlers.Create, func(context.Context) (any, error) {
				time.Sleep(time.Second)
				order = append(order, name)
				return nil, nil
			})
			a.Slot = s
			i.Try(t.Context(), a)
		}
		held := &Slot{}
		parent := newTestAttempt(handlers.Create, func(context.Context) (any, error) { attempt("sub-handler", held); return nil, nil })
		parent.Slot = held
		go i.Try(t.Context(), parent)
		synctest.Wait()
		attempt("another object", &Slot{})
		if want := []string{"sub-handler", "another object"}; !slices.Equal(order, want) {
			t.Errorf("order: %v", order)
		}
	})
}

func TestInvoker_NoFamilyBeginsPastFence(t *testing.T) {
	families := []handlers.Family{handlers.Create, handlers.Update, handlers.Resume, handlers.Event, handlers.Timer, handlers.Daemon}
	for _, family := range families {
		for name, shut := range map[string]func(*fence.Guard){"draining": (*fence.Guard).Drain, "lapsed": (*fence.Guard).Drop} {
			var guard fence.Guard
			shut(&guard)
			called := false
			i := NewInvoker(time.Now, &observe.Sink{}, 0)
			a := newTestAttempt(family, func(context.Context) (any, error) { called = true; return nil, nil })
			if _, counts := i.Try(fence.With(t.Context(), &guard), a); counts || called {
				t.Errorf("%v, %s: called %t, counts %t", family, name, called, counts)
			}
		}
	}
}

func TestInvoker_FenceIsAskedAfterTheWaitForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := NewInvoker(time.Now, &observe.Sink{}, 1)
		var guard fence.Guard
		busy := newTestAttempt(handlers.Create, func(context.Context) (any, error) { time.Sleep(time.Second); return nil, nil })
		busy.Slot = &Slot{}
		go i.Try(t.Context(), busy)
		synctest.Wait()
		called := false
		waiting := newTestAttempt(handlers.Create, func(context.Context) (any, error) { called = true; return nil, nil })
		waiting.Slot = &Slot{}
		time.AfterFunc(time.Millisecond, guard.Drop)
		if _, counts := i.Try(fence.With(t.Context(), &guard), waiting); counts || called {
			t.Errorf("after the lapse: called %t, counts %t", called, counts)
		}
	})
}

func TestCheckResult_TooLargeIsPermanent(t *testing.T) {
	for _, tt := range []struct {
		size   int
		result any
		fits   bool
	}{
		{100, map[string]any{"a": int64(1)}, true},
		{100, strings.Repeat("x", maxObjectSize-102), true},
		{100, strings.Repeat("x", maxObjectSize-101), false},
		{maxObjectSize, "x", false},
		{0, []any{strings.Repeat("<", maxObjectSize/6-1)}, true},
		{0, map[string]any{"a": []any{strings.Repeat("<", maxObjectSize/6)}}, false},
	} {
		err := checkResult(tt.size, tt.result)
		var permanent handlers.Permanent
		if (err == nil) != tt.fits || err != nil && (!errors.As(err, &permanent) || !strings.Contains(err.Error(), "bytes of JSON")) {
			t.Errorf("%d and %.20v: %v", tt.size, tt.result, err)
		}
	}
}
