package e2e

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// steps are what happened, in order.
type steps struct {
	mu  sync.Mutex
	all []string
}

func (s *steps) add(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, step)
}

type counter struct{ n atomic.Int32 }

func TestStartupIsFirstAndCleanupIsLast(t *testing.T) {
	w := newWorld(t)
	w.create(example("one"))
	var did steps
	op := w.run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(ctx context.Context, a *kopf.Activity) error {
			if a.Retry < 2 {
				return kopf.Temporaryf(10*time.Millisecond, "not yet")
			}
			did.add("startup")
			a.Settings.Persistence.Finalizer = "test.kopf.dev/changed"
			kopf.MemoOf[counter](a.Memo).n.Add(41)
			return nil
		}, kopf.ID("startup"))
		kopf.OnResume(r, kexes, func(_ context.Context, c *kopf.Change[kopf.Object]) error {
			kopf.MemoOf[counter](c.Memo).n.Add(1)
			did.add("handled")
			return nil
		}, kopf.ID("resume"))
		kopf.OnCreate(r, kexes, func(context.Context, *kopf.Change[kopf.Object]) error { return nil }, kopf.ID("create"))
		kopf.Daemon(r, kexes, func(ctx context.Context, d *kopf.DaemonRun[kopf.Object]) error {
			<-d.Stopping()
			did.add("daemon")
			return nil
		}, kopf.ID("daemon"))
		kopf.OnCleanup(r, func(ctx context.Context, a *kopf.Activity) error {
			if ctx.Err() != nil {
				t.Error("the context of the cleanup is over")
			}
			if n := kopf.MemoOf[counter](a.Memo).n.Load(); n != 41 && n != 42 {
				t.Errorf("the memo has %d", n)
			}
			did.add("cleanup")
			return nil
		}, kopf.ID("cleanup"))
	})
	w.until("one", "has the finalizer of the changed settings", func(o *kopf.Object) bool {
		finalizers, _ := o.Get("metadata.finalizers").([]any)
		return slices.Contains(finalizers, any("test.kopf.dev/changed"))
	})
	w.untilHandled("one")
	op.journal.wait(t, "Daemon 'daemon' is invoked.", 1)
	op.stop()
	if first, last := did.all[0], did.all[len(did.all)-1]; first != "startup" || last != "cleanup" || !slices.Contains(did.all, "daemon") {
		t.Errorf("%q", did.all)
	}
	w.patch("one", tree{"metadata": tree{"finalizers": nil}})
}

func TestAnOperatorWhoseStartupFailsAsksTheClusterNothing(t *testing.T) {
	var requests, cleanups atomic.Int32
	config := rest.CopyConfig(testcluster.Config(t))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(req)
		})
	})
	broken := errors.New("no database")
	registry := &kopf.Registry{}
	kopf.OnStartup(registry, func(context.Context, *kopf.Activity) error { return broken },
		kopf.ID("startup"), kopf.Retries(2), kopf.Backoff(time.Millisecond))
	kopf.OnCleanup(registry, func(context.Context, *kopf.Activity) error { cleanups.Add(1); return nil }, kopf.ID("cleanup"))
	kopf.OnCreate(registry, kexes, func(context.Context, *kopf.Change[kopf.Object]) error { return nil }, kopf.ID("create"))
	err := (&kopf.Operator{Registry: registry, Config: config}).Run(t.Context())
	if !errors.Is(err, broken) || !errors.Is(err, kopf.ErrRetries) {
		t.Error(err)
	}
	if requests.Load() != 0 || cleanups.Load() != 0 {
		t.Errorf("%d requests, %d cleanups", requests.Load(), cleanups.Load())
	}
}

func TestNothingIsAskedOfTheClusterUntilTheStartIsDone(t *testing.T) {
	w := newWorld(t)
	var requests, atTheEnd atomic.Int32
	proceed := make(chan struct{})
	op := w.run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(context.Context, *kopf.Activity) error {
			<-proceed
			return nil
		}, kopf.ID("slow"))
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			if a.Retry == 0 {
				return kopf.Temporaryf(10*time.Millisecond, "not yet")
			}
			atTheEnd.Store(requests.Load())
			return nil
		}, kopf.ID("retried"))
		kopf.OnEvent(r, kexes, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
	}, setup{unready: true, wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(req)
		})
	}})
	op.journal.wait(t, "Activity 'slow' is invoked.", 1)
	close(proceed)
	op.journal.wait(t, "the operator is ready", 1)
	if atTheEnd.Load() != 0 || requests.Load() == 0 {
		t.Errorf("%d requests before the end of the start, %d after it", atTheEnd.Load(), requests.Load())
	}
}

func TestAFailureOfTheCleanupIsTheOperatorsError(t *testing.T) {
	broken := errors.New("the disk is full")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for name, address := range map[string]string{"after all went well": "127.0.0.1:0", "after another failure": busy.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			registry := &kopf.Registry{}
			kopf.OnEvent(registry, kexes, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
			kopf.OnCleanup(registry, func(context.Context, *kopf.Activity) error { return broken }, kopf.ID("cleanup"), kopf.ErrorsPermanent)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			op := kopf.Operator{Registry: registry, Config: testcluster.Config(t), OnReady: cancel, Logger: slog.New(slog.DiscardHandler)}
			op.Settings.Process.Liveness = "http://" + address + "/healthz"
			err := op.Run(ctx)
			if err == nil || !errors.Is(err, broken) || !strings.Contains(err.Error(), `the cleanup handler "cleanup" has failed: the disk is full`) {
				t.Fatal(err)
			}
			// Nobody has to guess what else was wrong.
			if inUse := strings.Contains(err.Error(), "choose another port"); inUse != (address == busy.Addr().String()) {
				t.Error(err)
			}
		})
	}
}

func TestTheHealthIsToldOverHTTP(t *testing.T) {
	w := newWorld(t)
	var events atomic.Int32
	op := w.run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			a.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
			return nil
		}, kopf.ID("startup"))
		kopf.OnEvent(r, kexes, func(context.Context, *kopf.Event[kopf.Object]) error { events.Add(1); return nil }, kopf.ID("event"))
		kopf.OnProbe(r, func(context.Context, *kopf.Activity) (map[string]int32, error) {
			return map[string]int32{"seen": events.Load()}, nil
		}, kopf.ID("events"))
		kopf.OnProbe(r, func(_ context.Context, a *kopf.Activity) (any, error) { return nil, nil }, kopf.ID("nothing"))
	})
	w.create(example("one"))
	eventually(t, "the object is seen", func() bool { return events.Load() == 1 }, func() any { return events.Load() })
	if code, body := get(t, served(t, op, "/healthz")); code != http.StatusOK || body != `{"events":{"seen":1}}` {
		t.Error(code, body)
	}
}

// served is the URL that an operator serves a path at.
func served(t *testing.T, op *operator, path string) string {
	t.Helper()
	for _, e := range op.journal.all() {
		if url, ok := strings.CutPrefix(e.line, "Serving "); ok && strings.HasSuffix(url, path) {
			return url
		}
	}
	t.Fatalf("%s is not served:\n%v", path, op.journal.text())
	return ""
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
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
