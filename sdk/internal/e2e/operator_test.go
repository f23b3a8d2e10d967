package e2e

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestOperator_SeveralInOneProgramAreIndependent(t *testing.T) {
	cluster := newCluster(t)
	type greeting struct{ text string }
	stops := map[string]func(){}
	for _, name := range []string{"one", "two"} {
		op := &kopf.Operator{
			Registry: &kopf.Registry{}, Namespaces: []string{cluster.Namespace}, Config: cluster.Config, Logger: slog.New(slog.DiscardHandler),
		}
		prefix := name + ".kopf.dev"
		op.Settings.Persistence.Finalizer = prefix + "/finalizer"
		op.Settings.Persistence.ProgressStorage = storage.Annotations(storage.AnnotationNames{Prefix: prefix})
		op.Settings.Persistence.DiffBaseStorage = storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Prefix: prefix})
		kopf.MemoOf[greeting](&op.Memo).text = "hello from " + name
		kopf.OnCreate(op.Registry, kexes, func(_ context.Context, c *change) error {
			c.Result = kopf.MemoOf[greeting](c.Memo).text
			return nil
		}, kopf.ID("greet-"+name))
		kopf.Daemon(op.Registry, kexes, func(ctx context.Context, _ *run) error {
			<-ctx.Done()
			return ctx.Err()
		}, kopf.ID("stay-"+name))
		ready := make(chan struct{})
		op.OnReady = func() { close(ready) }
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- op.Run(ctx) }()
		stops[name] = func() {
			stop()
			if err := <-ended; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		receive(cluster, "it is ready", ready)
	}
	greeted := func(o *kopf.Object, who string) bool {
		return o.Get(kopf.PathOf("status", "greet-"+who)) == "hello from "+who
	}
	x := cluster.Create(example("x"))
	x.WaitFor("it is greeted by both", func(o *kopf.Object) bool { return greeted(o, "one") && greeted(o, "two") })
	stops["one"]()
	y := cluster.Create(example("y"))
	y.WaitFor("it is greeted by the other", func(o *kopf.Object) bool { return greeted(o, "two") })
	if greeted(y.Get(), "one") {
		t.Error("an operator that was stopped goes on")
	}
	stops["two"]()
}

func TestOperator_CanRunAgain(t *testing.T) {
	cluster, r := newCluster(t), newRunCounts()
	op := &kopf.Operator{
		Registry: &kopf.Registry{}, Namespaces: []string{cluster.Namespace}, Config: cluster.Config, Logger: slog.New(slog.DiscardHandler),
	}
	kopf.Daemon(op.Registry, kexes, r.daemon("d", 0), kopf.ID("d"))
	cluster.Create(example("x"))
	for life := range 3 {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- op.Run(ctx) }()
		r.wait(cluster, "d x", 1, life+1)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		r.wait(cluster, "d x", 0, life+1)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := op.Run(ctx); err != nil {
		t.Errorf("an operator that is told to stop ahead of its start: %v", err)
	}
	if err := (&kopf.Operator{}).Run(t.Context()); !errors.Is(err, kopf.ErrRegistration) {
		t.Errorf("an operator with nothing: %v", err)
	}
	r.neverTwice(t)
}

// embedded is an operator that the test runs itself. It records the calls of its handlers, and can
// be held up.
type embedded struct {
	*kopf.Operator
	t       *testing.T
	cluster *kopftest.Cluster
	calls   *calls
	log     *logBuffer
	held    chan struct{} // something has come to where it stays
	once    sync.Once
	release chan struct{} // closed to release functions that ignore their context
}

// logBuffer keeps a log.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds a message.
func (b *logBuffer) Write(message []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(message)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newEmbedded returns an operator with a startup and a cleanup handler.
func newEmbedded(t *testing.T, cluster *kopftest.Cluster) *embedded {
	t.Helper()
	l := &embedded{t: t, cluster: cluster.With(t), calls: &calls{}, log: &logBuffer{}, held: make(chan struct{}), release: make(chan struct{})}
	l.Operator = &kopf.Operator{
		Registry: &kopf.Registry{}, Namespaces: []string{cluster.Namespace}, Config: cluster.Config,
		Logger:  slog.New(logging.NewHandler(l.log, &logging.Options{Level: slog.LevelDebug})),
		OnReady: func() { l.calls.add("ready") },
	}
	l.Settings.Queueing.ExitTimeout = 50 * time.Millisecond
	kopf.OnStartup(l.Registry, func(context.Context, *kopf.Activity) error { l.calls.add("startup"); return nil }, kopf.ID("startup"))
	kopf.OnCleanup(l.Registry, func(context.Context, *kopf.Activity) error { l.calls.add("cleanup"); return nil }, kopf.ID("cleanup"))
	return l
}

// hold blocks until the context ends.
func (l *embedded) hold(ctx context.Context) error {
	l.once.Do(func() { close(l.held) })
	<-ctx.Done()
	return ctx.Err()
}

// ignore blocks until it is released, and ignores its context.
func (l *embedded) ignore() { //nolint:contextcheck // that is the point

	l.once.Do(func() { close(l.held) })
	<-l.release
}

// holdRequests blocks some requests until their contexts end.
func (l *embedded) holdRequests(like func(*http.Request) bool) {
	l.Config = rest.CopyConfig(l.Config)
	l.Config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return wrapped{roundTrip(func(req *http.Request) (*http.Response, error) {
			if like(req) {
				return nil, l.hold(req.Context())
			}
			return base.RoundTrip(req)
		}), base}
	})
}

func TestOperator_EndsWithItsContext(t *testing.T) {
	cluster := newCluster(t)
	for name, c := range map[string]struct {
		prepare func(l *embedded)
		calls   []string
		warns   string
	}{
		"a startup handler runs": {
			func(l *embedded) {
				kopf.OnStartup(l.Registry, func(ctx context.Context, _ *kopf.Activity) error { return l.hold(ctx) }, kopf.ID("hold"))
			},
			[]string{"startup"}, "only partially executed",
		},
		"a startup handler is retried": {
			func(l *embedded) {
				kopf.OnStartup(l.Registry, func(context.Context, *kopf.Activity) error {
					l.once.Do(func() { close(l.held) })
					return kopf.Temporaryf(time.Hour, "not now")
				}, kopf.ID("hold"))
			},
			[]string{"startup"}, "only partially executed",
		},
		"a login handler runs": {
			func(l *embedded) {
				l.Config = nil
				kopf.OnLogin(l.Registry, func(ctx context.Context, _ *kopf.Activity) (*kopf.ConnectionInfo, error) {
					return nil, l.hold(ctx)
				}, kopf.ID("hold"))
			},
			[]string{"startup", "cleanup"}, "",
		},
		"it looks for the resources": {
			func(l *embedded) {
				l.holdRequests(func(req *http.Request) bool { return req.URL.Path == "/apis" })
			},
			[]string{"startup", "cleanup"}, "",
		},
		"it looks for the namespaces": {
			func(l *embedded) {
				l.holdRequests(func(req *http.Request) bool { return req.URL.Path == "/api/v1/namespaces" })
			},
			[]string{"startup", "cleanup"}, "",
		},
		"it lists the objects": {
			func(l *embedded) {
				l.holdRequests(func(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/kopfexamples") })
			},
			[]string{"startup", "cleanup"}, "",
		},
		"it tells that it is ready": {
			func(l *embedded) {
				l.OnReady = l.ignore
			},
			[]string{"startup", "cleanup"}, "The OnReady callback ignores that the operator stops; abandoning it",
		},
		"a handler ignores its context": {
			func(l *embedded) {
				kopf.OnCreate(l.Registry, kexes, func(context.Context, *change) error { l.ignore(); return nil }, kopf.ID("hold"))
				l.cluster.Create(example("handled"))
			},
			[]string{"startup", "ready", "cleanup"}, "Some handlers ignore that the operator stops",
		},
		"a daemon ignores its context": {
			func(l *embedded) {
				kopf.Daemon(l.Registry, kexes, func(context.Context, *run) error { l.ignore(); return nil }, kopf.ID("hold"))
				l.cluster.Create(example("attended"))
			},
			[]string{"startup", "ready", "cleanup"}, "ignore",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newEmbedded(t, cluster)
			// There must be a resource to list.
			kopf.OnEvent(l.Registry, kexes, func(context.Context, *event) error { return nil }, kopf.ID("any"))
			c.prepare(l)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := make(chan error, 1)
			go func() { ended <- l.Run(ctx) }()
			l.cluster.WaitUntil("it is held up", func() bool {
				select {
				case <-l.held:
					return true
				default:
					return len(ended) > 0
				}
			})
			if len(ended) > 0 {
				t.Fatalf("it has ended before: %v", <-ended)
			}
			if slices.Contains(c.calls, "ready") {
				l.calls.wait(l.cluster, "ready", 1)
			}
			cancel(errors.New("it is enough"))
			if err := receive(l.cluster, "the operator ends", ended); err != nil {
				t.Errorf("a stop is no error: %v", err)
			}
			close(l.release)
			l.calls.are(t, c.calls...)
			if c.warns != "" && !strings.Contains(l.log.String(), c.warns) {
				t.Errorf("nothing is said of %q", c.warns)
			}
		})
	}
}

// expiring is a context whose deadline is over when a channel is closed.
type expiring struct {
	context.Context
	over <-chan struct{}
}

// Done implements [context.Context].
func (e expiring) Done() <-chan struct{} { return e.over }

// Err implements [context.Context].
func (e expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestOperator_ExpiredContextIsNoError(t *testing.T) {
	cluster := newCluster(t)
	l := newEmbedded(t, cluster)
	l.holdRequests(func(req *http.Request) bool { return req.URL.Path == "/apis" })
	ctx := expiring{context.WithoutCancel(t.Context()), l.held}
	if err := l.Run(ctx); err != nil {
		t.Error(err)
	}
	l.calls.are(t, "startup", "cleanup")
}

func TestOperator_CancelledBeforeStartCallsNothing(t *testing.T) {
	cluster := newCluster(t)
	l := newEmbedded(t, cluster)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Run(ctx); err != nil {
		t.Error(err)
	}
	l.calls.are(t)
}

func TestOperator_ReadyOncePerRun(t *testing.T) {
	cluster := newCluster(t)
	l := newEmbedded(t, cluster)
	index := kopf.NewIndex(l.Registry, kexes, func(_ context.Context, p *indexed) (map[string]string, error) {
		return map[string]string{p.Namespace + "/" + p.Name: ""}, nil
	}, kopf.ID("index"))
	kopf.OnEvent(l.Registry, kexes, func(_ context.Context, e *event) error {
		l.calls.add("seen " + e.Namespace)
		return nil
	}, kopf.ID("seen"))
	l.Namespaces = []string{cluster.Namespace, cluster.Namespace + "-late-*"}
	var inside context.Context
	kopf.OnStartup(l.Registry, func(ctx context.Context, _ *kopf.Activity) error { inside = ctx; return nil }, kopf.ID("context"))
	l.cluster.Create(example("x"))
	l.cluster.Create(example("y"))
	for n := range 3 {
		ctx, stop := context.WithCancel(t.Context())
		ready := make(chan int, 10)
		l.OnReady = func() { ready <- index.Len(inside) }
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx) }()
		select {
		case found := <-ready:
			if found != 2+n {
				t.Errorf("life %d: there are %d objects in the index", n, found)
			}
		case err := <-ended:
			t.Fatalf("life %d: %v", n, err)
		}
		// OnReady is not called again for a new namespace.
		late := fmt.Sprintf("%s-late-%d", cluster.Namespace, n)
		l.cluster.CreateNamespace(late)
		l.cluster.Create(in(late, example("z")))
		l.calls.wait(cluster, "seen "+late, 1)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(ready) > 0 {
			t.Errorf("life %d: it was told again", n)
		}
	}
}

func TestOperator_CannotRunTwiceAtOnce(t *testing.T) {
	cluster := newCluster(t)
	l := newEmbedded(t, cluster)
	ready := make(chan struct{})
	l.OnReady = func() { close(ready) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	<-ready
	if err := l.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is running already") {
		t.Errorf("the second says %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the first says %v", err)
	}
	l.calls.are(t, "startup", "cleanup")
}

// failure is an error type of a user's program.
type failure struct{ code int }

func (f *failure) Error() string { return "a failure" }

func TestOperator_StartErrors(t *testing.T) {
	cluster := newCluster(t)
	as := func(err error) bool {
		found, ok := errors.AsType[*failure](err)
		return ok && found.code == 42
	}
	for name, c := range map[string]struct {
		prepare func(l *embedded)
		is      func(error) bool
		says    string
		calls   []string
	}{
		"without a registry": {
			func(l *embedded) { l.Registry = nil },
			func(err error) bool { return errors.Is(err, kopf.ErrRegistration) }, "the Registry is not set", nil,
		},
		"with mistakes in it": {
			func(l *embedded) {
				kopf.OnCreate(l.Registry, kexes, func(context.Context, *change) error { return nil }, kopf.Attempts(0))
			},
			func(err error) bool { return errors.Is(err, kopf.ErrRegistration) }, "operator_test.go", nil,
		},
		"with an empty namespace": {
			func(l *embedded) { l.Namespaces = []string{"one", " "} },
			func(err error) bool { return err != nil }, "a namespace to serve has an empty name", nil,
		},
		"a startup handler fails": {
			func(l *embedded) {
				kopf.OnStartup(l.Registry, func(context.Context, *kopf.Activity) error {
					return kopf.Permanentf("no: %w", &failure{42})
				}, kopf.ID("fails"))
			},
			as, `the operator does not start: the startup handler "fails" has failed: no: a failure`, []string{"startup"},
		},
		"a cleanup handler fails": {
			func(l *embedded) {
				kopf.OnCleanup(l.Registry, func(context.Context, *kopf.Activity) error { return &failure{42} }, kopf.ID("fails"), kopf.ErrorsPermanent)
				l.Namespaces, l.AllNamespaces = nil, true
				l.holdRequests(func(*http.Request) bool { return true })
			},
			as, `the cleanup handler "fails" has failed: a failure`, []string{"startup", "cleanup"},
		},
		"there are no credentials": {
			func(l *embedded) {
				l.Config = nil
				kopf.OnLogin(l.Registry, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
					return nil, &failure{42}
				}, kopf.ID("login"), kopf.ErrorsPermanent)
			},
			func(err error) bool { return errors.Is(err, kopf.ErrLogin) && as(err) }, "cannot log in to the cluster", []string{"startup", "cleanup"},
		},
		"the given credentials are refused": {
			func(l *embedded) {
				l.Config = rest.AnonymousClientConfig(l.Config)
				l.Config.BearerToken = "of nobody"
			},
			func(err error) bool { return errors.Is(err, kopf.ErrLogin) && apierrors.IsUnauthorized(err) }, "cannot log in", []string{"startup", "cleanup"},
		},
		"the cluster is not there": {
			func(l *embedded) { l.Config = &rest.Config{Host: "http://127.0.0.1:1"} },
			func(err error) bool {
				_, ok := errors.AsType[*net.OpError](err)
				return ok && errors.Is(err, syscall.ECONNREFUSED)
			}, "discover the resources of the cluster", []string{"startup", "cleanup"},
		},
		"it may not see what there is": {
			func(l *embedded) {
				l.Config = rest.AnonymousClientConfig(l.Config)
			},
			apierrors.IsForbidden, "discover the resources of the cluster", []string{"startup", "cleanup"},
		},
		"its address is taken": {
			func(l *embedded) {
				taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
				if err != nil {
					l.t.Fatal(err)
				}
				l.t.Cleanup(func() { _ = taken.Close() })
				l.Settings.Process.Liveness = "http://" + taken.Addr().String() + "/"
			},
			func(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }, "serve http://127.0.0.1:", []string{"startup", "cleanup"},
		},
		"its address makes no sense": {
			func(l *embedded) { l.Settings.Process.Liveness = "ftp://here" },
			func(err error) bool { return err != nil }, "liveness: want an endpoint such as http://0.0.0.0:8080/healthz: got ftp://here", []string{"startup", "cleanup"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newEmbedded(t, cluster)
			l.Settings.Networking.ErrorBackoffs = slices.Values([]time.Duration{})
			c.prepare(l)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { // to whatever is held
				select {
				case <-l.held:
					cancel()
				case <-ctx.Done():
				}
			}()
			err := l.Run(ctx)
			if !c.is(err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v", err)
			}
			l.calls.are(t, c.calls...)
		})
	}
}

func TestOperator_SharedRegistry(t *testing.T) {
	cluster := newCluster(t)
	other := cluster.Namespace + "-other"
	cluster.CreateNamespace(other)
	registry := &kopf.Registry{}
	index := kopf.NewIndex(registry, kexes, func(_ context.Context, p *indexed) (map[string]string, error) {
		return map[string]string{"names": p.Namespace + "/" + p.Name}, nil
	}, kopf.ID("index"))
	kopf.OnCreate(registry, kexes, func(ctx context.Context, c *change) error {
		c.Result = map[string]any{"seen": index.Get(ctx, "names"), "greeting": *kopf.MemoOf[string](c.Memo)}
		return nil
	}, kopf.ID("created"))
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for _, ns := range []string{cluster.Namespace, other} {
		ready := make(chan struct{})
		op := &kopf.Operator{
			Registry: registry, Namespaces: []string{ns}, Config: cluster.Config, Logger: slog.New(slog.DiscardHandler),
			OnReady: func() { close(ready) },
		}
		*kopf.MemoOf[string](&op.Memo) = "hello from " + ns
		wg.Go(func() {
			if err := op.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		<-ready
	}
	for _, ns := range []string{cluster.Namespace, other} {
		x := cluster.Create(in(ns, example("x")))
		o := x.WaitFor("it is handled", func(o *kopf.Object) bool { return o.Get("status.created") != nil })
		if seen := o.Get("status.created.seen"); len(fmtAll(seen)) != 1 || fmtAll(seen)[0] != ns+"/x" {
			t.Errorf("in the index of %s, there is %v", ns, seen)
		}
		if got := o.Get("status.created.greeting"); got != "hello from "+ns {
			t.Errorf("the memo of %s says %v", ns, got)
		}
	}
	stop()
	wg.Wait()
}

// sameIDs registers two functions under one id for one resource, in different notations.
func sameIDs(c *calls, of custom) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		kopf.OnCreate(r, kopf.Resource(of.group+"/v1", of.plural), func(context.Context, *change) error { c.add("one"); return nil }, kopf.ID("create"))
		kopf.OnCreate(r, kopf.Resource(of.name()), func(context.Context, *change) error { c.add("two"); return nil }, kopf.ID("create"))
	}
}

func TestOperator_RefusesTwoHandlersWithOneID(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := &kopf.Operator{
		Registry: &kopf.Registry{}, Namespaces: []string{cluster.Namespace}, Config: cluster.Config, Logger: slog.New(slog.DiscardHandler),
	}
	sameIDs(c, kex)(op.Registry)
	err := op.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "serve kopfexamples.v1.kopf.dev: Handler 'create' (at e2e/operator_test.go:") {
		t.Errorf("it ended with %v", err)
	}
}

func TestOperator_LeavesOutLaterResourceWithTwoHandlersOfOneID(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	own := kex
	own.group = cluster.Namespace + ".kopf.dev"
	op := cluster.Run(sameIDs(c, own))
	own.define(cluster)
	x := cluster.Create(own.of(example("x")))
	op.WaitLog("A resource will not be served: " + own.key())
	op.WaitInspect("the resource is told as not served", func(s *inspect.Snapshot) bool {
		return len(s.Unserved) == 1 && s.Unserved[0].Reason == "conflicting"
	})
	if handled(x.Get()) || len(c.all()) > 0 {
		t.Error("it is recorded as handled")
	}
}
