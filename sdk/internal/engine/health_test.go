package engine

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// asked is an answer of the health endpoint.
func asked(ctx context.Context, h http.Handler) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestProbesAreMadeOnceInTenSecondsHoweverManyAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &handlers.Registry{}
		var calls int // one probe at a time
		registry.Add(handlerOf(handlers.Probe, "count", func(context.Context, int) (any, error) {
			time.Sleep(time.Second)
			calls++
			return int64(calls), nil
		}))
		registry.Add(handlerOf(handlers.Probe, "silent", func(context.Context, int) (any, error) { return nil, nil }))
		o, _ := fresh(registry)
		h := &health{operator: o, ctx: t.Context()}
		for round, want := range []string{`{"count":1}`, `{"count":1}`, `{"count":2}`} {
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if code, body := asked(t.Context(), h); code != 200 || body != want {
						t.Errorf("round %d: %d %s", round, code, body)
					}
				})
			}
			wg.Wait()
			time.Sleep(9 * time.Second)
		}
	})
}

func TestAProbeThatFailsForGoodIsAFailureAndIsMadeAgain(t *testing.T) {
	registry := &handlers.Registry{}
	healthy := false
	registry.Add(handlerOf(handlers.Probe, "p", func(context.Context, int) (any, error) {
		if !healthy {
			return nil, errors.Join(permanent{}, errors.New("no disk"))
		}
		return true, nil
	}))
	o, _ := fresh(registry)
	h := &health{operator: o, ctx: t.Context()}
	if code, body := asked(t.Context(), h); code != 500 || !strings.Contains(body, "no disk") {
		t.Error(code, body)
	}
	healthy = true
	if code, body := asked(t.Context(), h); code != 200 || body != `{"p":true}` {
		t.Error(code, body)
	}
}

func TestAProbeThatIsToBeTriedAgainGoesOnWithoutItsAsker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &handlers.Registry{}
		registry.Add(handlerOf(handlers.Probe, "p", func(_ context.Context, retry int) (any, error) {
			if retry == 0 {
				return nil, temporary(30 * time.Second)
			}
			return "fine", nil
		}))
		o, _ := fresh(registry)
		h := &health{operator: o, ctx: t.Context()}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if code, _ := asked(impatient, h); code != 500 {
			t.Error(code)
		}
		if code, body := asked(t.Context(), h); code != 200 || body != `{"p":"fine"}` {
			t.Error(code, body)
		}
	})
}

func TestAnOperatorWithoutProbesIsHealthy(t *testing.T) {
	o, _ := fresh(&handlers.Registry{})
	if code, body := asked(t.Context(), &health{operator: o, ctx: t.Context()}); code != 200 || body != "{}" {
		t.Error(code, body)
	}
}

func TestAProbeThatDoesNotEndIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		registry := &handlers.Registry{}
		registry.Add(handlerOf(handlers.Probe, "p", func(context.Context, int) (any, error) { <-release; return nil, nil }))
		o, text := fresh(registry)
		o.settings.ExitTimeout = 2 * time.Second
		h := &health{operator: o, ctx: t.Context()}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		asked(impatient, h)
		h.wait()
		if !strings.Contains(text.String(), "A probe ignores") {
			t.Error(text)
		}
		close(release)
	})
}

func TestEndpointsOfOneAddressShareAPort(t *testing.T) {
	all := endpoints{}
	say := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	for endpoint, wrong := range map[string]bool{
		"": false, "http://127.0.0.1:0/healthz": false, "http://127.0.0.1:0/metrics": false,
		"https://127.0.0.1:0/x": true, "tcp://127.0.0.1:0": true, "127.0.0.1:8080": true, "http://u:p@h/": true, "http://h/?q": true,
	} {
		if err := all.add(endpoint, say(endpoint)); errors.Is(err, ErrEndpoint) != wrong {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	if err := all.add("http://127.0.0.1:0/metrics", say("")); !errors.Is(err, ErrEndpoint) {
		t.Error(err)
	}
	if len(all) != 1 || len(all["127.0.0.1:0"]) != 2 {
		t.Errorf("%v", all)
	}
	o, text := fresh(nil)
	stop, err := all.serve(t.Context(), o.logger)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	_, after, _ := strings.Cut(text.String(), "Serving http://")
	address, _, _ := strings.Cut(after, "/")
	for path, want := range map[string]string{"/healthz": "http://127.0.0.1:0/healthz", "/metrics": "http://127.0.0.1:0/metrics"} {
		if code, body := fetch(t, http.MethodGet, "http://"+address+path); code != 200 || body != want {
			t.Error(code, body)
		}
	}
	if code, _ := fetch(t, http.MethodGet, "http://"+address+"/"); code != 404 {
		t.Error(code)
	}
	if code, _ := fetch(t, http.MethodPost, "http://"+address+"/healthz"); code != 405 {
		t.Error(code)
	}
	busy := endpoints{address: {"/": say("")}}
	if _, err := busy.serve(t.Context(), o.logger); err == nil || !strings.Contains(err.Error(), "serving http://"+address) {
		t.Error(err)
	}
}

func fetch(t *testing.T, method, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestAnEndpointThatMakesNoSenseKeepsTheOperatorFromStarting(t *testing.T) {
	o, _ := fresh(&handlers.Registry{})
	o.settings.Liveness = "https://0.0.0.0:8080/healthz"
	if err := o.work(t.Context(), t.Context(), nil); !errors.Is(err, ErrEndpoint) {
		t.Error(err)
	}
}

func TestTheEndpointsEndWithTheOperator(t *testing.T) {
	o, text := fresh(&handlers.Registry{})
	o.settings.Liveness = "http://127.0.0.1:0/healthz"
	stop, err := o.serveEndpoints(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(text.String(), "Serving ")
	url, _, _ := strings.Cut(after, `"`)
	if code, body := fetch(t, http.MethodGet, url); code != 200 || body != "{}" {
		t.Error(code, body)
	}
	stop()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
		_ = resp.Body.Close()
		t.Error("it is still served")
	}
}

func TestNoProbeBeginsWhenTheOperatorStops(t *testing.T) {
	registry := &handlers.Registry{}
	registry.Add(handlerOf(handlers.Probe, "p", func(context.Context, int) (any, error) {
		t.Error("a probe is called")
		return nil, nil
	}))
	o, _ := fresh(registry)
	ctx, cancel := context.WithCancel(t.Context())
	h := &health{operator: o, ctx: ctx}
	cancel()
	if code, body := asked(t.Context(), h); code != 500 || body != "context canceled" {
		t.Errorf("%d %s", code, body)
	}
	h.wait()
}
