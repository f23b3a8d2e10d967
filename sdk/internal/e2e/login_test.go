package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// endurance is how long tests of endurance take.
func endurance() time.Duration {
	if testing.Short() {
		return 10 * time.Second
	}
	return time.Minute
}

// versions are the versions of objects that somebody has seen.
type versions struct {
	mu   sync.Mutex
	seen map[string]bool // "name version"
}

func (v *versions) add(name, version string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen == nil {
		v.seen = map[string]bool{}
	}
	v.seen[name+" "+version] = true
}

// lacks returns what others have seen and this one has not.
func (v *versions) lacks(others *versions) (missed []string) {
	others.mu.Lock()
	defer others.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	for version := range others.seen {
		if !v.seen[version] {
			missed = append(missed, version)
		}
	}
	return missed
}

// watch notes all versions of the objects that a client sees which is never interrupted.
func (w *world) watch(v *versions) {
	w.t.Helper()
	// The control plane keeps the stream open for longer than any test takes.
	stream, err := w.client.Watch(w.t.Context(), w.res, w.ns, kube.ListOptions{Timeout: time.Hour})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			frame, err := stream.Next()
			if err != nil {
				if !errors.Is(err, kube.ErrClosed) && w.t.Context().Err() == nil {
					w.t.Errorf("the witness has lost its stream: %v", err)
				}
				return
			}
			if frame.Object != nil && frame.Type != object.EventBookmark {
				v.add(frame.Object.Name, frame.Object.ResourceVersion)
			}
		}
	}()
	w.t.Cleanup(func() {
		stream.Close()
		<-done
	})
}

// load is objects that are created, changed and deleted again and again, one change at a
// time for each, so that it is known how often each handler must be called.
type load struct {
	*world

	operator, witness versions // seen by either

	mu      sync.Mutex
	calls   map[string]int // of handlers, by what they are for and the object's name
	names   []string
	updated int // of the names, from the first on
	deleted map[string]bool

	own    ownClient
	failed atomic.Int32 // requests of the handlers' own client
	linger func()       // of handlers, before they return; optional
}

// ownClient is a handler's own client, made as a user would make it: once, at the start.
type ownClient struct {
	*http.Client
	host string
}

func newLoad(t *testing.T) *load {
	t.Helper()
	l := &load{world: newWorld(t), calls: map[string]int{}, deleted: map[string]bool{}}
	l.watch(&l.witness)
	return l
}

func (l *load) called(what, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[what+" "+name]++
}

func (l *load) register(r *kopf.Registry) {
	kopf.OnStartup(r, func(ctx context.Context, _ *kopf.Activity) error {
		config := kopf.RESTConfig(ctx)
		l.own.host = config.Host
		c, err := rest.HTTPClientFor(config)
		l.own.Client = c
		return err
	}, kopf.ID("startup"))
	kopf.OnEvent(r, kexes, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
		l.operator.add(e.Name, kopf.GetOr(e.Body, "metadata.resourceVersion", ""))
		return nil
	}, kopf.ID("event"))
	kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
		l.called("created", c.Name)
		// The client was made before the login, for an address that was not known yet.
		url := fmt.Sprintf("%s/apis/kopf.dev/v1/namespaces/%s/kopfexamples/%s", l.own.host, c.Namespace, c.Name)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := l.own.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			l.failed.Add(1)
		}
		c.Result = tree{"code": resp.StatusCode}
		if l.linger != nil {
			l.linger()
		}
		return nil
	}, kopf.ID("create"))
	kopf.OnUpdate(r, kexes, func(_ context.Context, c *change) error {
		l.called("updated", c.Name)
		c.Patch.Set("status.field", c.Object.Get("spec.field"))
		return nil
	}, kopf.ID("update"))
	kopf.OnDelete(r, kexes, func(_ context.Context, c *change) error {
		l.called("deleted", c.Name)
		return nil
	}, kopf.ID("delete"))
}

// burst makes some objects, and changes those that were made some time ago.
func (l *load) burst() {
	l.t.Helper()
	const size, lag = 3, 12
	for range size {
		name := fmt.Sprintf("n%d", len(l.names))
		l.create(example(name))
		l.names = append(l.names, name)
	}
	for l.updated < len(l.names)-lag {
		l.update()
	}
	if gone := l.updated - lag; gone >= 0 && !l.deleted[l.names[gone]] {
		l.untilHandled(l.names[gone])
		l.delete(l.names[gone])
		l.deleted[l.names[gone]] = true
	}
}

func (l *load) update() {
	l.t.Helper()
	l.untilHandled(l.names[l.updated])
	l.patch(l.names[l.updated], tree{"spec": tree{"field": "changed"}})
	l.updated++
}

// settle deletes what is left, and checks that everything was handled once.
func (l *load) settle() {
	l.t.Helper()
	for l.updated < len(l.names) {
		l.update()
	}
	for _, name := range l.names {
		if l.deleted[name] {
			continue
		}
		if o := l.untilHandled(name); o.Get("status.field") != "changed" {
			l.t.Errorf("the status of %s is %v", name, o.Get("status"))
		}
		l.delete(name)
	}
	for _, name := range l.names {
		l.untilGone(name)
	}
	missed := func() []string { return l.operator.lacks(&l.witness) }
	eventually(l.t, "all versions are seen", func() bool { return len(missed()) == 0 }, func() any { return missed() })
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range l.names {
		for _, what := range []string{"created", "updated", "deleted"} {
			if n := l.calls[what+" "+name]; n != 1 {
				l.t.Errorf("%s: the handler of what is %s was called %d times", name, what, n)
			}
		}
	}
	if n := l.failed.Load(); n > 0 {
		l.t.Errorf("%d requests of the handlers' own client have failed", n)
	}
}

func TestNothingIsLostWhileCredentialsExpireEveryMoment(t *testing.T) {
	const life = 3 * time.Second
	l := newLoad(t)
	gate := testcluster.NewGatekeeper(t, life)
	var logins, quiet, busy atomic.Int64 // the latter two are when there is to be no load, and much
	near := func(nano *atomic.Int64) bool { return time.Until(time.Unix(0, nano.Load())).Abs() < life/6 }
	l.linger = func() {
		if near(&busy) {
			time.Sleep(time.Until(time.Unix(0, busy.Load())) + 10*time.Millisecond)
		}
	}
	op := l.run(func(r *kopf.Registry) {
		kopf.OnLogin(r, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
			info := &kopf.ConnectionInfo{Config: gate.Config()}
			token, until := gate.Token()
			info.Config.BearerToken = token
			switch logins.Add(1) % 4 {
			case 0, 2: // the operator knows when it ends
				info.Expiration = until.Add(-life / 10)
			case 1: // a 401 tells, as an answer to a stream
				quiet.Store(until.UnixNano())
			case 3: // or as an answer to a patch
				busy.Store(until.UnixNano())
			}
			return info, nil
		}, kopf.ID("login"))
		l.register(r)
	}, setup{loggingIn: true})

	for end := time.Now().Add(endurance()); time.Now().Before(end); {
		pace := 500 * time.Millisecond
		switch {
		case near(&quiet):
		case near(&busy):
			pace = 50 * time.Millisecond
			fallthrough
		default:
			l.burst()
		}
		time.Sleep(pace)
	}
	l.settle()

	all, rejected := gate.Issued()
	t.Logf("%d objects; %d logins, %d of them until a 401; %d streams cut; refused: %d watches, %d patches, %d reads",
		len(l.names), logins.Load(), rejected, gate.Cut(), gate.Refused("watch"), gate.Refused(http.MethodPatch), gate.Refused(http.MethodGet))
	if wanted := int(endurance() / life / 2); all < wanted || rejected < wanted/3 || all-rejected < wanted/3 || gate.Cut() < wanted {
		t.Error("that is no test of credentials that expire")
	}
	if !testing.Short() && (gate.Refused("watch") == 0 || gate.Refused(http.MethodPatch) == 0) {
		t.Error("that is no test of requests that are refused")
	}
	if op.journal.count("Re-authentication has finished.") == 0 {
		t.Error("the log says nothing of logins")
	}
}
