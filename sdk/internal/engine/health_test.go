package engine

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// askHealth returns a response of the health endpoint.
func askHealth(ctx context.Context, h http.Handler) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestHealth_ResultsReusedForTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &handlers.Registry{}
		var calls int // probes run one at a time, so this needs no lock
		registry.Add(handlerOf(handlers.Probe, "count", func(context.Context, int) (any, error) {
			time.Sleep(time.Second)
			calls++
			return int64(calls), nil
		}))
		registry.Add(handlerOf(handlers.Probe, "silent", func(context.Context, int) (any, error) { return nil, nil }))
		o, _ := newTestOperator(t, registry)
		h := &health{operator: o, ctx: t.Context()}
		for round, want := range []string{`{"count":1}`, `{"count":1}`, `{"count":2}`} {
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if code, body := askHealth(t.Context(), h); code != 200 || body != want {
						t.Errorf("round %d: %d %s", round, code, body)
					}
				})
			}
			wg.Wait()
			time.Sleep(9 * time.Second)
		}
	})
}

func TestHealth_PermanentFailureIsReportedAndProbedAgain(t *testing.T) {
	registry := &handlers.Registry{}
	healthy := false
	registry.Add(handlerOf(handlers.Probe, "p", func(context.Context, int) (any, error) {
		if !healthy {
			return nil, errors.Join(permanent{}, errors.New("no disk"))
		}
		return true, nil
	}))
	o, _ := newTestOperator(t, registry)
	h := &health{operator: o, ctx: t.Context()}
	if code, body := askHealth(t.Context(), h); code != 500 || !strings.Contains(body, "no disk") {
		t.Error(code, body)
	}
	healthy = true
	if code, body := askHealth(t.Context(), h); code != 200 || body != `{"p":true}` {
		t.Error(code, body)
	}
}

func TestHealth_RetriedProbeOutlivesItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &handlers.Registry{}
		registry.Add(handlerOf(handlers.Probe, "p", func(_ context.Context, retry int) (any, error) {
			if retry == 0 {
				return nil, temporary(30 * time.Second)
			}
			return "fine", nil
		}))
		o, _ := newTestOperator(t, registry)
		h := &health{operator: o, ctx: t.Context()}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if code, _ := askHealth(impatient, h); code != 500 {
			t.Error(code)
		}
		if code, body := askHealth(t.Context(), h); code != 200 || body != `{"p":"fine"}` {
			t.Error(code, body)
		}
	})
}

func TestHealth_NoProbesIsHealthy(t *testing.T) {
	o, _ := newTestOperator(t, &handlers.Registry{})
	if code, body := askHealth(t.Context(), &health{operator: o, ctx: t.Context()}); code != 200 || body != "{}" {
		t.Error(code, body)
	}
}

func TestHealth_HangingProbeIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		registry := &handlers.Registry{}
		registry.Add(handlerOf(handlers.Probe, "p", func(context.Context, int) (any, error) { <-release; return nil, nil }))
		o, text := newTestOperator(t, registry)
		h := &health{operator: o, ctx: t.Context()}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		askHealth(impatient, h)
		o.deps.Settings.ExitTimeout = 2 * time.Second
		h.wait()
		if !strings.Contains(text.String(), "A probe ignores") {
			t.Error(text)
		}
		close(release)
	})
}

func TestHealth_NoProbeStartsAfterStop(t *testing.T) {
	registry := &handlers.Registry{}
	registry.Add(handlerOf(handlers.Probe, "p", func(context.Context, int) (any, error) {
		t.Error("a probe is called")
		return nil, nil
	}))
	o, _ := newTestOperator(t, registry)
	ctx, cancel := context.WithCancel(t.Context())
	h := &health{operator: o, ctx: ctx}
	cancel()
	if code, body := askHealth(t.Context(), h); code != 500 || body != "context canceled" {
		t.Errorf("%d %s", code, body)
	}
	h.wait()
}
