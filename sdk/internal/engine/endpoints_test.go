package engine

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestEndpoints_SameAddressSharesPort(t *testing.T) {
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
	o, text := newTestOperator(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	defer serving.Wait()
	defer stop()
	if err := all.serve(ctx, &serving, o.deps.Logger); err != nil {
		t.Fatal(err)
	}
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
	if err := busy.serve(ctx, &serving, o.deps.Logger); err == nil || !strings.Contains(err.Error(), "serve http://"+address) {
		t.Error(err)
	}
}

func TestEndpoints_AnswerUntilStoppedOperatorHasEnded(t *testing.T) {
	o, text := newTestOperator(t, &handlers.Registry{})
	o.deps.Settings.Liveness = "http://127.0.0.1:0/healthz"
	ctx, cancel := context.WithCancel(t.Context())
	stop, err := o.serveEndpoints(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(text.String(), "Serving ")
	url, _, _ := strings.Cut(after, "\"")
	cancel()
	if code, body := fetch(t, http.MethodGet, url); code != 500 || !strings.Contains(body, context.Canceled.Error()) {
		t.Errorf("%d %s: it still answers, but starts no probe", code, body)
	}
	stop()
	if conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/healthz")); err == nil {
		_ = conn.Close()
		t.Error("still listening")
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

func TestEndpoints_InvalidURLPreventsStart(t *testing.T) {
	o, _ := newTestOperator(t, &handlers.Registry{})
	o.deps.Settings.Liveness = "https://0.0.0.0:8080/healthz"
	if err := o.work(t.Context(), t.Context(), nil); !errors.Is(err, ErrEndpoint) {
		t.Error(err)
	}
}

func TestEndpoints_ClosedWhenOperatorStops(t *testing.T) {
	o, text := newTestOperator(t, &handlers.Registry{})
	o.deps.Settings.Liveness = "http://127.0.0.1:0/healthz"
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
