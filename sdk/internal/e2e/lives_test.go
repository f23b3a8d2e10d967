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

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// life is an operator that notes who is called, and what may hold it up.
type life struct {
	*kopf.Operator
	w       *world
	calls   *calls
	journal *journal
	held    chan struct{} // something has come to where it stays
	once    sync.Once
	release chan struct{} // for what does not heed its context
}

// newLife makes an operator with a startup and a cleanup handler.
func (w *world) newLife(t *testing.T) *life {
	t.Helper()
	here := *w
	here.t = t
	l := &life{w: &here, calls: &calls{}, journal: newJournal(), held: make(chan struct{}), release: make(chan struct{})}
	l.Operator = &kopf.Operator{
		Registry: &kopf.Registry{}, Namespaces: []string{w.ns}, Config: testcluster.Config(t), Logger: slog.New(l.journal),
		OnReady: func() { l.calls.add("ready") },
	}
	l.Settings.Queueing.ExitTimeout = 50 * time.Millisecond
	kopf.OnStartup(l.Registry, func(context.Context, *kopf.Activity) error { l.calls.add("startup"); return nil }, kopf.ID("startup"))
	kopf.OnCleanup(l.Registry, func(context.Context, *kopf.Activity) error { l.calls.add("cleanup"); return nil }, kopf.ID("cleanup"))
	return l
}

// hold stays until the context ends.
func (l *life) hold(ctx context.Context) error {
	l.once.Do(func() { close(l.held) })
	<-ctx.Done()
	return ctx.Err()
}

// ignore stays until it is released, whatever happens to its context.
func (l *life) ignore() { //nolint:contextcheck // that is the point
	l.once.Do(func() { close(l.held) })
	<-l.release
}

// holdRequests makes requests stay that are like the given ones.
func (l *life) holdRequests(like func(*http.Request) bool) {
	l.Config = rest.CopyConfig(l.Config)
	l.Config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		return patches{base, roundTrip(func(req *http.Request) (*http.Response, error) {
			if like(req) {
				return nil, l.hold(req.Context())
			}
			return base.RoundTrip(req)
		}), l.journal}
	})
}

func TestAnOperatorEndsWithItsContextWhateverItIsDoing(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		prepare func(l *life)
		calls   []string
		warns   string
	}{
		"a startup handler runs": {
			func(l *life) {
				kopf.OnStartup(l.Registry, func(ctx context.Context, _ *kopf.Activity) error { return l.hold(ctx) }, kopf.ID("hold"))
			},
			[]string{"startup"}, "only partially executed",
		},
		"a startup handler is to be tried again": {
			func(l *life) {
				kopf.OnStartup(l.Registry, func(context.Context, *kopf.Activity) error {
					l.once.Do(func() { close(l.held) })
					return kopf.Temporaryf(time.Hour, "not now")
				}, kopf.ID("hold"))
			},
			[]string{"startup"}, "only partially executed",
		},
		"a login handler runs": {
			func(l *life) {
				l.Config = nil
				kopf.OnLogin(l.Registry, func(ctx context.Context, _ *kopf.Activity) (*kopf.ConnectionInfo, error) {
					return nil, l.hold(ctx)
				}, kopf.ID("hold"))
			},
			[]string{"startup", "cleanup"}, "",
		},
		"it looks for the resources": {
			func(l *life) {
				l.holdRequests(func(req *http.Request) bool { return req.URL.Path == "/apis" })
			},
			[]string{"startup", "cleanup"}, "",
		},
		"it looks for the namespaces": {
			func(l *life) {
				l.holdRequests(func(req *http.Request) bool { return req.URL.Path == "/api/v1/namespaces" })
			},
			[]string{"startup", "cleanup"}, "",
		},
		"it lists the objects": {
			func(l *life) {
				l.holdRequests(func(req *http.Request) bool { return strings.HasSuffix(req.URL.Path, "/kopfexamples") })
			},
			[]string{"startup", "cleanup"}, "",
		},
		"it tells that it is ready": {
			func(l *life) {
				l.OnReady = l.ignore
			},
			[]string{"startup", "cleanup"}, "ignores that it stops: it is left alone",
		},
		"a handler ignores its context": {
			func(l *life) {
				kopf.OnCreate(l.Registry, kexes, func(context.Context, *change) error { l.ignore(); return nil }, kopf.ID("hold"))
				l.w.create(example("handled"))
			},
			[]string{"startup", "ready", "cleanup"}, "Some handlers ignore that the operator stops",
		},
		"a daemon ignores its context": {
			func(l *life) {
				kopf.Daemon(l.Registry, kexes, func(context.Context, *run) error { l.ignore(); return nil }, kopf.ID("hold"))
				l.w.create(example("attended"))
			},
			[]string{"startup", "ready", "cleanup"}, "ignore",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := w.newLife(t)
			// Something is to be listed, in any case.
			kopf.OnEvent(l.Registry, kexes, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("any"))
			c.prepare(l)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := make(chan error, 1)
			go func() { ended <- l.Run(ctx) }()
			select {
			case <-l.held:
			case err := <-ended:
				t.Fatalf("it has ended before: %v", err)
			case <-time.After(patience):
				t.Fatalf("it never gets there: %v", l.journal.all())
			}
			if slices.Contains(c.calls, "ready") {
				l.calls.wait(t, "ready", 1)
			}
			cancel(errors.New("it is enough"))
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("a stop is no error: %v", err)
				}
			case <-time.After(patience):
				t.Errorf("it goes on: %v", l.journal.all())
			}
			close(l.release)
			l.calls.are(t, c.calls...)
			if c.warns != "" && l.journal.count(c.warns) == 0 {
				t.Errorf("nothing is said of %q", c.warns)
			}
		})
	}
}

func TestAnOperatorWhoseTimeIsOverEndsWithoutAnError(t *testing.T) {
	l := newWorld(t).newLife(t)
	l.holdRequests(func(req *http.Request) bool { return req.URL.Path == "/apis" })
	ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("it is enough"))
	defer cancel()
	if err := l.Run(ctx); err != nil {
		t.Error(err)
	}
	l.calls.are(t, "startup", "cleanup")
}

func TestAnOperatorThatIsToldToStopBeforeItsStartCallsNobody(t *testing.T) {
	l := newWorld(t).newLife(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Run(ctx); err != nil {
		t.Error(err)
	}
	l.calls.are(t)
}

func TestAnOperatorIsReadyOnceInEachLife(t *testing.T) {
	l := newWorld(t).newLife(t)
	index := kopf.NewIndex(l.Registry, kexes, func(_ context.Context, p *indexed) (map[string]string, error) {
		return map[string]string{p.Namespace + "/" + p.Name: ""}, nil
	}, kopf.ID("index"))
	kopf.OnEvent(l.Registry, kexes, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
		l.calls.add("seen " + e.Namespace)
		return nil
	}, kopf.ID("seen"))
	l.Namespaces = []string{l.w.ns, l.w.ns + "-late-*"}
	var inside context.Context
	kopf.OnStartup(l.Registry, func(ctx context.Context, _ *kopf.Activity) error { inside = ctx; return nil }, kopf.ID("context"))
	l.w.create(example("x"))
	l.w.create(example("y"))
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
		// What is watched from now on is no new readiness.
		late := fmt.Sprintf("%s-late-%d", l.w.ns, n)
		l.w.makeNamespace(late)
		l.w.createIn(late, example("z"))
		l.calls.wait(t, "seen "+late, 1)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(ready) > 0 {
			t.Errorf("life %d: it was told again", n)
		}
	}
}

func TestOneOperatorCannotRunTwiceAtTheSameTime(t *testing.T) {
	l := newWorld(t).newLife(t)
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

// failure is an error of a program's own.
type failure struct{ code int }

func (f *failure) Error() string { return "a failure" }

func TestWhyAnOperatorDoesNotStartCanBeAsked(t *testing.T) {
	w := newWorld(t)
	as := func(err error) bool {
		found, ok := errors.AsType[*failure](err)
		return ok && found.code == 42
	}
	for name, c := range map[string]struct {
		prepare func(l *life)
		is      func(error) bool
		says    string
		calls   []string
	}{
		"without a registry": {
			func(l *life) { l.Registry = nil },
			func(err error) bool { return errors.Is(err, kopf.ErrRegistration) }, "the Registry is not set", nil,
		},
		"with mistakes in it": {
			func(l *life) {
				kopf.OnCreate(l.Registry, kexes, func(context.Context, *change) error { return nil }, kopf.Retries(0))
			},
			func(err error) bool { return errors.Is(err, kopf.ErrRegistration) }, "lives_test.go", nil,
		},
		"with an empty namespace": {
			func(l *life) { l.Namespaces = []string{"one", " "} },
			func(err error) bool { return err != nil }, "a namespace to serve has an empty name", nil,
		},
		"a startup handler fails": {
			func(l *life) {
				kopf.OnStartup(l.Registry, func(context.Context, *kopf.Activity) error {
					return kopf.Permanentf("no: %w", &failure{42})
				}, kopf.ID("fails"))
			},
			as, `the operator does not start: the startup handler "fails" has failed: no: a failure`, []string{"startup"},
		},
		"a cleanup handler fails": {
			func(l *life) {
				kopf.OnCleanup(l.Registry, func(context.Context, *kopf.Activity) error { return &failure{42} }, kopf.ID("fails"), kopf.ErrorsPermanent)
				l.Namespaces = nil
				l.holdRequests(func(*http.Request) bool { return true })
			},
			as, `the cleanup handler "fails" has failed: a failure`, []string{"startup", "cleanup"},
		},
		"there are no credentials": {
			func(l *life) {
				l.Config = nil
				kopf.OnLogin(l.Registry, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
					return nil, &failure{42}
				}, kopf.ID("login"), kopf.ErrorsPermanent)
			},
			func(err error) bool { return errors.Is(err, kopf.ErrLogin) && as(err) }, "cannot log in to the cluster", []string{"startup", "cleanup"},
		},
		"the given credentials are refused": {
			func(l *life) {
				l.Config = rest.AnonymousClientConfig(l.Config)
				l.Config.BearerToken = "of nobody"
			},
			func(err error) bool { return errors.Is(err, kopf.ErrLogin) && apierrors.IsUnauthorized(err) }, "cannot log in", []string{"startup", "cleanup"},
		},
		"the cluster is not there": {
			func(l *life) { l.Config = &rest.Config{Host: "http://127.0.0.1:1"} },
			func(err error) bool {
				_, ok := errors.AsType[*net.OpError](err)
				return ok && errors.Is(err, syscall.ECONNREFUSED)
			}, "looking for the resources of the cluster", []string{"startup", "cleanup"},
		},
		"it may not see what there is": {
			func(l *life) {
				l.Config = rest.AnonymousClientConfig(l.Config)
			},
			apierrors.IsForbidden, "looking for the resources of the cluster", []string{"startup", "cleanup"},
		},
		"its address is taken": {
			func(l *life) {
				taken, err := new(net.ListenConfig).Listen(l.w.t.Context(), "tcp", "127.0.0.1:0")
				if err != nil {
					l.w.t.Fatal(err)
				}
				l.w.t.Cleanup(func() { _ = taken.Close() })
				l.Settings.Process.Liveness = "http://" + taken.Addr().String() + "/"
			},
			func(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }, "serving http://127.0.0.1:", []string{"startup", "cleanup"},
		},
		"its address makes no sense": {
			func(l *life) { l.Settings.Process.Liveness = "ftp://here" },
			func(err error) bool { return err != nil }, "liveness: want an endpoint such as http://0.0.0.0:8080/healthz: got ftp://here", []string{"startup", "cleanup"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := w.newLife(t)
			l.Settings.Networking.ErrorBackoffs = slices.Values([]time.Duration{})
			c.prepare(l)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
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

func TestOperatorsMayShareARegistryAndWhatItRegisters(t *testing.T) {
	w := newWorld(t)
	other := w.ns + "-other"
	w.makeNamespace(other)
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
	for _, ns := range []string{w.ns, other} {
		ready := make(chan struct{})
		op := &kopf.Operator{
			Registry: registry, Namespaces: []string{ns}, Config: testcluster.Config(t), Logger: slog.New(newJournal()),
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
	for _, ns := range []string{w.ns, other} {
		w.createIn(ns, example("x"))
		here := *w
		here.ns = ns
		o := here.until("x", "is handled", func(o *kopf.Object) bool { return o.Get("status.created") != nil })
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
