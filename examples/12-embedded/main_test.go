package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

// output collects the program's output. It may be used concurrently.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func embedded(t *testing.T, cluster *kopftest.Cluster) *kopf.Operator {
	return &kopf.Operator{
		Config: cluster.Config, Namespaces: []string{cluster.Namespace},
		Logger: slog.New(logging.NewHandler(t.Output(), nil)),
	}
}

func TestRun_OperatorRunsWithProgram(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	out := &output{}
	err := run(t.Context(), embedded(t, cluster), out, func(context.Context, io.Writer) error {
		example := cluster.ApplyFile("obj.yaml")
		example.WaitFor("the object is handled", func(o *kopf.Object) bool { return o.Get("metadata.annotations") != nil && len(out.String()) > 0 })
		example.Delete()
		example.WaitGone()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if got, want := out.String(), "Hello, kopf-example-1!\nGood bye, kopf-example-1!\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRun_WithoutOperatorWorkDoesNotStart(t *testing.T) {
	never := func(context.Context, io.Writer) error { return errors.New("the work was started") }
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := run(stopped, &kopf.Operator{AllNamespaces: true}, &output{}, never); err != nil {
		t.Errorf("a stopped operator: %v", err)
	}
	nowhere := &kopf.Operator{AllNamespaces: true, Config: &rest.Config{Host: "http://127.0.0.1:1"}}
	nowhere.Settings.Networking.ErrorBackoffs = slices.Values([]time.Duration{})
	if err := run(t.Context(), nowhere, &output{}, never); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("without a cluster: %v", err)
	}
}

// startProxy starts a proxy of the cluster that answers 401 after the credentials are revoked.
func startProxy(t *testing.T, cluster *kopftest.Cluster) (server *httptest.Server, revoked *atomic.Bool) {
	transport, err := rest.TransportFor(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(cluster.Config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: transport, FlushInterval: -1,
	}
	revoked = &atomic.Bool{}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if revoked.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server, revoked
}

func TestRun_OperatorFailureStopsWork(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	server, revoked := startProxy(t, cluster)
	path := filepath.Join(t.TempDir(), "config")
	config := api.NewConfig()
	config.Clusters["here"] = &api.Cluster{Server: server.URL}
	config.Contexts["here"] = &api.Context{Cluster: "here"}
	config.CurrentContext = "here"
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	operator := embedded(t, cluster)
	operator.Config = nil // use the login handlers
	err := run(t.Context(), operator, &output{}, func(ctx context.Context, _ io.Writer) error {
		revoked.Store(true)
		cluster.ApplyFile("obj.yaml") // handling it needs requests
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, kopf.ErrLogin) {
		t.Errorf("after the credentials are revoked: %v", err)
	}
}

func TestRun_ReturnsErrorOfWork(t *testing.T) {
	cluster := kopftest.New(t)
	failure := errors.New("no more work")
	err := run(t.Context(), embedded(t, cluster), &output{}, func(context.Context, io.Writer) error { return failure })
	if !errors.Is(err, failure) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := &output{}
	if err := work(ctx, out); err != nil || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("the work continues after its context is cancelled: %v\n%s", err, out)
	}
}

func TestGreeter_SurvivesEveryCrash(t *testing.T) {
	printer := &kopftest.Outside{Repeatable: []string{"print"}} // a greeting has no key
	plan := kopftest.CrashPlan{
		Register: register,
		Outside:  printer,
		Configure: func(o *kopf.Operator) {
			kopf.SetMemo(&o.Memo, &greeter{hello: "Hello, {name}!", goodbye: "Good bye, {name}!", out: recorded{printer}})
		},
	}
	kopftest.EveryCrash(t, plan, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		example.Set("spec.field", "other")
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
	})
}

// recorded is an output whose lines are calls to the outside.
type recorded struct{ printer *kopftest.Outside }

func (r recorded) Write(line []byte) (int, error) {
	return len(line), r.printer.Do(context.Background(), "print", "", func() error { return nil })
}
