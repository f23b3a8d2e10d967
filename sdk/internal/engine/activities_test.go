package engine

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

type temporary time.Duration

func (t temporary) Error() string                    { return "not yet" }
func (t temporary) KopfDelay() (time.Duration, bool) { return time.Duration(t), true }

type permanent struct{}

func (permanent) Error() string  { return "never" }
func (permanent) KopfPermanent() {}

var errBoom = errors.New("boom")

// newTestOperator returns an operator that is not running, and its log.
func newTestOperator(t *testing.T, registry *handlers.Registry) (*operator, *bytes.Buffer) {
	t.Helper()
	if registry == nil {
		registry = &handlers.Registry{}
	}
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == observe.StackKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	o := newOperator(t.Context(), Config{
		Registry: registry, Settings: func() core.Settings { return core.Settings{DefaultBackoff: time.Minute} }, Logger: log,
	}, core.NewIndices(registry))
	o.deps.Sink.Subscribe(observe.NewLogLines(t.Context(), log, false))
	o.fail = func(error) {}
	t.Cleanup(o.stopBackground)
	return o, &text
}

func handlerOf(family handlers.Family, id string, fn func(ctx context.Context, retry int) (any, error)) *handlers.Handler {
	return &handlers.Handler{ID: id, Family: family, Fn: id, Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
		return fn(ctx, call.Retry)
	}}
}

func TestActivities_OnlyFailedHandlersAreRetriedWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var calls []string
		note := func(id string) { calls = append(calls, id+" "+time.Since(began).String()) }
		o, text := newTestOperator(t, nil)
		got, err := o.runActivity(t.Context(), handlers.Startup, []*handlers.Handler{
			handlerOf(handlers.Startup, "slow", func(_ context.Context, retry int) (any, error) {
				note("slow")
				if retry < 2 {
					return nil, temporary(10 * time.Second)
				}
				return "done", nil
			}),
			handlerOf(handlers.Startup, "quick", func(context.Context, int) (any, error) { note("quick"); return nil, nil }),
			handlerOf(handlers.Startup, "default", func(_ context.Context, retry int) (any, error) {
				note("default")
				if retry < 1 {
					return nil, errBoom
				}
				return 1, nil
			}),
		})
		if err != nil || len(got) != 2 || got["slow"] != "done" || got["default"] != 1 {
			t.Errorf("%v, %v", got, err)
		}
		want := []string{"slow 0s", "quick 0s", "default 0s", "slow 10s", "slow 20s", "default 1m0s"}
		if !slices.Equal(calls, want) {
			t.Errorf("%q", calls)
		}
		for _, line := range []string{
			`level=DEBUG msg="Activity 'slow' is invoked." logger=kopf.activities.startup`,
			`level=INFO msg="Activity 'slow' failed temporarily: not yet" logger=kopf.activities.startup`,
			`level=ERROR msg="Activity 'default' failed with an exception and will try again in 60 seconds: boom" logger=kopf.activities.startup`,
			`level=INFO msg="Activity 'slow' succeeded." logger=kopf.activities.startup`,
		} {
			if !strings.Contains(text.String(), line) {
				t.Errorf("%s is not in the log:\n%s", line, text)
			}
		}
	})
}

func TestActivities_RetryLimits(t *testing.T) {
	tests := map[string]struct {
		limit func(*handlers.Handler)
		fails error
		calls int
		took  time.Duration
		want  error // nil if the outcome counts as a success
	}{
		"retries":   {func(h *handlers.Handler) { h.Retries = new(3) }, errBoom, 3, 2 * time.Minute, handlers.ErrAttempts},
		"timeout":   {func(h *handlers.Handler) { h.Timeout = new(100 * time.Second) }, errBoom, 2, time.Minute, handlers.ErrTimeout},
		"backoff":   {func(h *handlers.Handler) { h.Retries, h.Backoff = new(2), new(time.Second) }, errBoom, 2, time.Second, errBoom},
		"permanent": {func(*handlers.Handler) {}, permanent{}, 1, 0, permanent{}},
		"mode":      {func(h *handlers.Handler) { h.ErrorsSet, h.Errors = true, handlers.ErrorsPermanent }, errBoom, 1, 0, errBoom},
		"ignored":   {func(h *handlers.Handler) { h.ErrorsSet, h.Errors = true, handlers.ErrorsIgnored }, errBoom, 1, 0, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, began := 0, time.Now()
				h := handlerOf(handlers.Cleanup, "h", func(context.Context, int) (any, error) { calls++; return nil, tt.fails })
				tt.limit(h)
				o, _ := newTestOperator(t, nil)
				_, err := o.runActivity(t.Context(), handlers.Cleanup, []*handlers.Handler{h})
				if !errors.Is(err, tt.want) || (tt.want == nil) != (err == nil) {
					t.Errorf("%v", err)
				}
				if calls != tt.calls || time.Since(began) != tt.took {
					t.Errorf("%d calls in %s", calls, time.Since(began))
				}
			})
		})
	}
}

func TestActivities_PanicIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, _ := newTestOperator(t, nil)
		_, err := o.runActivity(t.Context(), handlers.Startup, []*handlers.Handler{
			handlerOf(handlers.Startup, "h", func(_ context.Context, retry int) (any, error) {
				if retry == 0 {
					panic("oops")
				}
				return nil, nil
			}),
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestActivityError_WrapsErrorsOfAllHandlers(t *testing.T) {
	o, _ := newTestOperator(t, nil)
	_, err := o.runActivity(t.Context(), handlers.Startup, []*handlers.Handler{
		handlerOf(handlers.Startup, "a", func(context.Context, int) (any, error) { return nil, permanent{} }),
		handlerOf(handlers.Startup, "b", func(context.Context, int) (any, error) { return nil, nil }),
		handlerOf(handlers.Startup, "c", func(context.Context, int) (any, error) { return nil, errors.Join(permanent{}, errBoom) }),
	})
	if err == nil || err.Error() != `the startup handler "a" has failed: never (and 1 more)` || !errors.Is(err, errBoom) {
		t.Error(err)
	}
}

func TestStartup_InterruptedIsNotFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		registry := &handlers.Registry{}
		registry.Add(handlerOf(handlers.Startup, "h", func(context.Context, int) (any, error) { return nil, errBoom }))
		cleaned := false
		registry.Add(handlerOf(handlers.Cleanup, "c", func(context.Context, int) (any, error) { cleaned = true; return nil, nil }))
		o, text := newTestOperator(t, registry)
		if err := o.live(ctx, t.Context(), nil); err != nil {
			t.Error(err)
		}
		if cleaned {
			t.Error("there was nothing to clean up")
		}
		if !strings.Contains(text.String(), "only partially executed") {
			t.Error(text)
		}
	})
}

func TestCleanup_WaitsForRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &handlers.Registry{}
		registry.Add(handlerOf(handlers.Cleanup, "c", func(_ context.Context, retry int) (any, error) {
			if retry == 0 {
				return nil, temporary(time.Hour)
			}
			return nil, errors.Join(permanent{}, errBoom)
		}))
		began := time.Now()
		o, _ := newTestOperator(t, registry)
		if err := o.cleanup(); !errors.Is(err, errBoom) || time.Since(began) != time.Hour {
			t.Error(err, time.Since(began))
		}
	})
}

func TestCleanup_HandlersHaveOwnTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := handlerOf(handlers.Cleanup, "hangs", func(ctx context.Context, _ int) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		hangs.Timeout = new(5 * time.Second)
		done := false
		registry := &handlers.Registry{}
		registry.Add(hangs)
		registry.Add(handlerOf(handlers.Cleanup, "other", func(context.Context, int) (any, error) { done = true; return nil, nil }))
		began := time.Now()
		o, _ := newTestOperator(t, registry)
		stopped, stop := context.WithCancel(t.Context())
		stop()
		o.deps.Background = stopped // all other work has stopped
		if err := o.cleanup(); !errors.Is(err, handlers.ErrTimeout) || time.Since(began) != 5*time.Second || !done {
			t.Error(err, time.Since(began), done)
		}
	})
}
