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

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// steps records what happened, in order.
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

func TestActivity_StartupFirstCleanupLast(t *testing.T) {
	cluster := newCluster(t)
	one := cluster.Create(example("one"))
	var did steps
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(ctx context.Context, a *kopf.Activity) error {
			if a.Retry < 2 {
				return kopf.Temporaryf(10*time.Millisecond, "not yet")
			}
			did.add("startup")
			a.Settings.Persistence.Finalizer = "test.kopf.dev/changed"
			kopf.MemoOf[counter](a.Memo).n.Add(41)
			return nil
		}, kopf.ID("startup"))
		kopf.OnResume(r, kexes, func(_ context.Context, c *change) error {
			kopf.MemoOf[counter](c.Memo).n.Add(1)
			did.add("handled")
			return nil
		}, kopf.ID("resume"))
		kopf.OnCreate(r, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create"))
		kopf.Daemon(r, kexes, func(ctx context.Context, d *run) error {
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
	one.WaitFor("it has the finalizer of the changed settings", func(o *kopf.Object) bool {
		finalizers, _ := o.Get("metadata.finalizers").([]any)
		return slices.Contains(finalizers, any("test.kopf.dev/changed"))
	})
	waitHandled(one)
	if shown := op.Inspect().Operator; shown.Finalizer != "test.kopf.dev/changed" || len(shown.Records) == 0 {
		t.Errorf("the inspector has the finalizer %q and the records %v", shown.Finalizer, shown.Records)
	}
	op.WaitLog("Daemon 'daemon' is invoked.")
	op.Stop()
	if first, last := did.all[0], did.all[len(did.all)-1]; first != "startup" || last != "cleanup" || !slices.Contains(did.all, "daemon") {
		t.Errorf("%q", did.all)
	}
	one.Patch(tree{"metadata": tree{"finalizers": nil}})
}

func TestStartup_FailureSendsNoRequests(t *testing.T) {
	var requests, cleanups atomic.Int32
	config := testcluster.Config(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(req)
		})
	})
	broken := errors.New("no database")
	registry := &kopf.Registry{}
	kopf.OnStartup(registry, func(context.Context, *kopf.Activity) error { return broken },
		kopf.ID("startup"), kopf.Attempts(2), kopf.RetryDelay(time.Millisecond))
	kopf.OnCleanup(registry, func(context.Context, *kopf.Activity) error { cleanups.Add(1); return nil }, kopf.ID("cleanup"))
	kopf.OnCreate(registry, kexes, func(context.Context, *change) error { return nil }, kopf.ID("create"))
	err := (&kopf.Operator{Registry: registry, AllNamespaces: true, Config: config}).Run(t.Context())
	if !errors.Is(err, broken) || !errors.Is(err, kopf.ErrAttempts) {
		t.Error(err)
	}
	if requests.Load() != 0 || cleanups.Load() != 0 {
		t.Errorf("%d requests, %d cleanups", requests.Load(), cleanups.Load())
	}
}

func TestStartup_NoRequestsBeforeItsEnd(t *testing.T) {
	cluster := newCluster(t)
	var requests, atTheEnd atomic.Int32
	proceed := make(chan struct{})
	op := cluster.Launch(func(r *kopf.Registry) {
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
		kopf.OnEvent(r, kexes, func(context.Context, *event) error { return nil }, kopf.ID("event"))
	}, transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			requests.Add(1)
			return next.RoundTrip(req)
		})
	}))
	op.WaitLog("Activity 'slow' is invoked.")
	close(proceed)
	op.WaitLog("the operator is ready")
	if atTheEnd.Load() != 0 || requests.Load() == 0 {
		t.Errorf("%d requests before the end of the start, %d after it", atTheEnd.Load(), requests.Load())
	}
}

func TestCleanup_FailureIsErrorOfOperator(t *testing.T) {
	broken := errors.New("the disk is full")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for name, address := range map[string]string{"after all went well": "127.0.0.1:0", "after another failure": busy.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			registry := &kopf.Registry{}
			kopf.OnEvent(registry, kexes, func(context.Context, *event) error { return nil }, kopf.ID("event"))
			kopf.OnCleanup(registry, func(context.Context, *kopf.Activity) error { return broken }, kopf.ID("cleanup"), kopf.ErrorsPermanent)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			op := kopf.Operator{Registry: registry, AllNamespaces: true, Config: testcluster.Config(t), OnReady: cancel, Logger: slog.New(slog.DiscardHandler)}
			op.Settings.Process.Liveness = "http://" + address + "/healthz"
			err := op.Run(ctx)
			if err == nil || !errors.Is(err, broken) || !strings.Contains(err.Error(), `the cleanup handler "cleanup" has failed: the disk is full`) {
				t.Fatal(err)
			}
			// The other failure is not lost.
			if inUse := strings.Contains(err.Error(), "choose another port"); inUse != (address == busy.Addr().String()) {
				t.Error(err)
			}
		})
	}
}

func TestProbe_ServedOverHTTP(t *testing.T) {
	cluster := newCluster(t)
	var events atomic.Int32
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			a.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
			return nil
		}, kopf.ID("startup"))
		kopf.OnEvent(r, kexes, func(context.Context, *event) error { events.Add(1); return nil }, kopf.ID("event"))
		kopf.OnProbe(r, func(context.Context, *kopf.Activity) (map[string]int32, error) {
			return map[string]int32{"seen": events.Load()}, nil
		}, kopf.ID("events"))
		kopf.OnProbe(r, func(_ context.Context, a *kopf.Activity) (any, error) { return nil, nil }, kopf.ID("nothing"))
	})
	cluster.Create(example("one"))
	cluster.WaitUntil("the object is seen", func() bool { return events.Load() == 1 })
	if code, body := get(t, served(t, op, "/healthz")); code != http.StatusOK || body != `{"events":{"seen":1}}` {
		t.Error(code, body)
	}
}

// served returns the URL at which an operator serves a path.
func served(t *testing.T, op *kopftest.Operator, path string) string {
	t.Helper()
	for _, e := range op.LogEntries() {
		if url, ok := strings.CutPrefix(e.Message, "Serving "); ok && strings.HasSuffix(url, path) {
			return url
		}
	}
	t.Fatalf("%s is not served:\n%v", path, op.Log())
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
