package indexing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestIndexRetry_NewestVersionRetriedWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, calls := time.Now(), []string(nil)
		var started time.Time
		x, index := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			calls = append(calls, fmt.Sprintf("%s v%s #%d", time.Since(began), call.Cause.Object.ResourceVersion, call.Retry))
			if started = call.Started; call.Retry < 2 {
				return nil, enginetest.Later{Delay: 10 * time.Second}
			}
			return enginetest.ByVersion(ctx, call)
		}})
		x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
		time.Sleep(5 * time.Second)
		x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
		time.Sleep(time.Hour)
		synctest.Wait()
		want := "0s v1 #0, 10s v2 #1, 20s v2 #2"
		if got := strings.Join(calls, ", "); got != want {
			t.Errorf("called %s; want %s", got, want)
		}
		if !started.Equal(began) || len(index.Get("2")) != 1 || len(x.failures) != 0 {
			t.Errorf("started %v, values %v, failures %v", started, index.Pairs(), x.failures)
		}
	})
}

func TestIndexRetry_NoneWhileNoStreamRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Invoke: func(context.Context, *handlers.Call) (any, error) {
			calls++
			return nil, enginetest.Later{Delay: 10 * time.Second}
		}})
		x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
		x.Stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
		x.Start(t.Context(), x.Resource)
		x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
		x.Handle(enginetest.Pod(watch.Deleted, "a", "1"))
		time.Sleep(time.Hour)
		synctest.Wait()
		if calls != 2 || len(x.failures) != 0 {
			t.Errorf("%d calls, %d failures", calls, len(x.failures))
		}
	})
}

func TestIndexRetry_LimitsCountFromFirstFailure(t *testing.T) {
	arbitrary, soon := errors.New("oops"), enginetest.Later{Delay: 10 * time.Second}
	tests := map[string]struct {
		handler handlers.Handler
		err     error
		want    string // calls with their runtimes
		log     string
	}{
		"backoff defaults to a minute": {
			handlers.Handler{Errors: handlers.ErrorsTemporary, Retries: new(3)}, arbitrary,
			"0s #0 +0s, 1m0s #1 +1m0s, 2m0s #2 +2m0s", "would exceed 3 retries",
		},
		"backoff applies to arbitrary errors": {
			handlers.Handler{Errors: handlers.ErrorsTemporary, Retries: new(2), Backoff: new(5 * time.Second)}, arbitrary,
			"0s #0 +0s, 5s #1 +5s", "would exceed 2 retries",
		},
		"temporary error has its own delay": {
			handlers.Handler{Retries: new(2), Backoff: new(5 * time.Second)}, soon,
			"0s #0 +0s, 10s #1 +10s", "will exceed 2 retries",
		},
		"timeout spans all attempts": {
			handlers.Handler{Timeout: new(25 * time.Second)}, soon,
			"0s #0 +0s, 10s #1 +10s, 20s #2 +20s", "will time out after 25 seconds",
		},
		"permanent errors are not retried": {
			handlers.Handler{Errors: handlers.ErrorsPermanent}, arbitrary,
			"0s #0 +0s", "will stop now",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, calls, log := time.Now(), []string(nil), &bytes.Buffer{}
				h := tt.handler
				h.ID, h.ErrorsSet = "x", true
				h.Invoke = func(ctx context.Context, call *handlers.Call) (any, error) {
					if call.Cause.Object.ResourceVersion == "1" {
						return enginetest.ByVersion(ctx, call)
					}
					calls = append(calls, fmt.Sprintf("%s #%d +%s", time.Since(began), call.Retry, call.Runtime))
					return nil, tt.err
				}
				x, index := indexerOf(t, log, &h)
				x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
				x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
				if index.Len() != 0 {
					t.Errorf("values remain: %v", index.Pairs())
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				x.Handle(enginetest.Pod(watch.Modified, "a", "3")) // excluded permanently
				if got := strings.Join(calls, ", "); got != tt.want || !strings.Contains(log.String(), tt.log) {
					t.Errorf("called %s; want %s\n%s", got, tt.want, log)
				}
				// The failures do not apply to a successor with the same name.
				x.Handle(enginetest.Pod(watch.Deleted, "a", "3"))
				x.Handle(enginetest.Pod(watch.Added, "a", "1"))
				if index.Len() != 1 || len(x.failures) != 0 {
					t.Errorf("values %v, failures %v", index.Pairs(), x.failures)
				}
			})
		})
	}
}

func TestIndexRetry_NoAttemptAfterTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, log := 0, &bytes.Buffer{}
		x, _ := indexerOf(t, log, &handlers.Handler{ID: "x", Timeout: new(25 * time.Second), Invoke: func(context.Context, *handlers.Call) (any, error) {
			calls++
			return nil, enginetest.Later{Delay: 0} // retried with the next version
		}})
		x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
		x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
		time.Sleep(time.Minute)
		x.Handle(enginetest.Pod(watch.Modified, "a", "3"))
		x.Handle(enginetest.Pod(watch.Modified, "a", "4"))
		if calls != 2 || strings.Count(log.String(), "has timed out after 0:01:00") != 1 {
			t.Errorf("%d calls\n%s", calls, log)
		}
	})
}

func TestIndexRetry_SuccessResetsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []string
		x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{ID: "x", Retries: new(2), Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			attempts = append(attempts, fmt.Sprintf("v%s #%d", call.Cause.Object.ResourceVersion, call.Retry))
			if call.Cause.Object.ResourceVersion == "1" && call.Retry == 0 || call.Cause.Object.ResourceVersion == "2" {
				return nil, enginetest.Later{Delay: time.Second}
			}
			return enginetest.ByVersion(ctx, call)
		}})
		x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
		time.Sleep(time.Minute)
		synctest.Wait()
		x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := strings.Join(attempts, ", "), "v1 #0, v1 #1, v2 #0, v2 #1"; got != want {
			t.Errorf("attempts %s; want %s", got, want)
		}
	})
}

func TestIndexRetry_NoneForObjectThatStoppedMatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		matches, looks := true, 0
		x, index := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{
			ID: "x",
			When: func(context.Context, *handlers.Cause) bool {
				looks++
				return matches || looks > 100 // the limit prevents an endless loop
			},
			Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
				if call.Retry == 0 {
					return nil, enginetest.Later{Delay: 10 * time.Second}
				}
				return enginetest.ByVersion(ctx, call)
			},
		})
		x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
		matches = false
		x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if looks != 2 {
			t.Errorf("looked at %d times", looks)
		}
		matches = true
		x.Handle(enginetest.Pod(watch.Modified, "a", "3"))
		if len(index.Get("3")) != 1 || len(x.failures) != 0 {
			t.Errorf("values %v, failures %v", index.Pairs(), x.failures)
		}
	})
}

func TestIndexRetry_DelayAppliesAfterMatchingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		matches, began, calls := true, time.Now(), []string(nil)
		x, _ := indexerOf(t, &bytes.Buffer{}, &handlers.Handler{
			ID: "x", When: func(context.Context, *handlers.Cause) bool { return matches },
			Invoke: func(_ context.Context, call *handlers.Call) (any, error) {
				calls = append(calls, fmt.Sprintf("%s #%d", time.Since(began), call.Retry))
				if call.Retry == 0 {
					return nil, enginetest.Later{Delay: 10 * time.Second}
				}
				return nil, nil
			},
		})
		x.Handle(enginetest.Pod(watch.Listed, "a", "1"))
		matches = false
		x.Handle(enginetest.Pod(watch.Modified, "a", "2"))
		time.Sleep(5 * time.Second)
		matches = true
		x.Handle(enginetest.Pod(watch.Modified, "a", "3"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := strings.Join(calls, ", "), "0s #0, 10s #1"; got != want {
			t.Errorf("called %s; want %s", got, want)
		}
	})
}

// handlersOf returns handlers with ids.
func handlersOf(ids ...string) (all []*handlers.Handler) {
	for _, id := range ids {
		all = append(all, &handlers.Handler{ID: id})
	}
	return all
}

func TestIndexFailures_CountedUntilSuccess(t *testing.T) {
	f, began := indexFailures{}, time.Unix(1000, 0)
	delay := time.Minute
	f.record("x", handlers.Outcome{Err: errIndexing, Delay: &delay}, began, began)
	f.record("x", handlers.Outcome{Err: errIndexing, Delay: &delay}, began.Add(delay), began.Add(delay))
	if got := f["x"]; got.Retries != 2 || !got.Started.Equal(began) || !got.Until.Equal(began.Add(2*delay)) {
		t.Errorf("%+v", got)
	}
	f.record("x", handlers.Outcome{Final: true}, began.Add(2*delay), began.Add(2*delay))
	if len(f) > 0 {
		t.Errorf("a success is remembered: %+v", f)
	}
}

func TestIndexFailures_ExcludeForDelayOrPermanently(t *testing.T) {
	f, now := indexFailures{}, time.Unix(1000, 0)
	delay := time.Minute
	f.record("delayed", handlers.Outcome{Err: errIndexing, Delay: &delay}, now, now)
	f.record("at once", handlers.Outcome{Err: errIndexing, Delay: new(time.Duration)}, now, now)
	f.record("permanently", handlers.Outcome{Err: errIndexing, Final: true}, now, now)
	for id, want := range map[string][2]bool{
		"delayed": {true, false}, "at once": {false, false}, "permanently": {true, true}, "unknown": {false, false},
	} {
		if got := [2]bool{f[id].excluded(now), f[id].excluded(now.Add(time.Hour))}; got != want {
			t.Errorf("%s: excluded now and later: %v", id, got)
		}
	}
	if due, waiting := f.next(handlersOf("at once", "delayed", "permanently")); !waiting || !due.Equal(now.Add(delay)) {
		t.Errorf("due at %v, %v", due, waiting)
	}
	if due, waiting := f.next(handlersOf("at once", "permanently")); waiting {
		t.Errorf("what the object is not for is due at %v", due)
	}
}

func TestIndexFailures_NothingDueWithoutDelay(t *testing.T) {
	f, now := indexFailures{}, time.Unix(1000, 0)
	f.record("x", handlers.Outcome{Err: errIndexing}, now, now)
	f.record("y", handlers.Outcome{Err: errIndexing, Final: true}, now, now)
	if due, waiting := f.next(handlersOf("x", "y")); waiting {
		t.Errorf("due at %v", due)
	}
}
