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
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// endurance is the duration of the tests under load.
func endurance() time.Duration {
	if testing.Short() {
		return 10 * time.Second
	}
	return time.Minute
}

// versions are the versions of objects that were seen.
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

// lacks returns the versions that others have seen and this one has not.
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

// watch records all versions of the objects with a watch that is never interrupted.
func (v *versions) watch(t *testing.T, cluster *kopftest.Cluster) {
	t.Helper()
	res := &resources.Resource{Group: kex.group, Version: "v1", Plural: kex.plural, Kind: kex.kind, Namespaced: true}
	// The control plane keeps the stream open for longer than any test takes.
	stream, err := testcluster.Client(t, kube.ClientOptions{}).Watch(t.Context(), res, cluster.Namespace, kube.ListOptions{Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			frame, err := stream.Next()
			if err != nil {
				if !errors.Is(err, kube.ErrClosed) && t.Context().Err() == nil {
					t.Errorf("the watcher has lost its stream: %v", err)
				}
				return
			}
			if frame.Object != nil && frame.Type != object.EventBookmark {
				v.add(frame.Object.Name, frame.Object.ResourceVersion)
			}
		}
	}()
	t.Cleanup(func() {
		stream.Close()
		<-done
	})
}

// load creates, changes and deletes objects again and again. Each object has one change at a time,
// so that each handler must be called exactly once.
type load struct {
	*kopftest.Cluster
	t *testing.T

	operator, watcher versions // seen by either

	mu      sync.Mutex
	calls   map[string]int // number of handler calls, by the handler's purpose and the object's name
	names   []string
	updated int // number of updated names, from the first on
	deleted map[string]bool

	own    ownClient
	failed atomic.Int32 // requests of the handlers' own client
	linger func()       // called by handlers before they return; optional
}

// ownClient is a handler's own client, made as a user would make it: once, at the start.
type ownClient struct {
	*http.Client
	host string
}

func newLoad(t *testing.T) *load {
	t.Helper()
	l := &load{Cluster: newCluster(t), t: t, calls: map[string]int{}, deleted: map[string]bool{}}
	l.watcher.watch(t, l.Cluster)
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
	kopf.OnEvent(r, kexes, func(_ context.Context, e *event) error {
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

// burst creates some objects, and changes older ones.
func (l *load) burst() {
	l.t.Helper()
	const size, lag = 3, 12
	for range size {
		name := fmt.Sprintf("n%d", len(l.names))
		l.Create(example(name))
		l.names = append(l.names, name)
	}
	for l.updated < len(l.names)-lag {
		l.update()
	}
	if gone := l.updated - lag; gone >= 0 && !l.deleted[l.names[gone]] {
		waitHandled(l.Object(kex.name(), l.names[gone]))
		l.Object(kex.name(), l.names[gone]).Delete()
		l.deleted[l.names[gone]] = true
	}
}

func (l *load) update() {
	l.t.Helper()
	waitHandled(l.Object(kex.name(), l.names[l.updated]))
	l.Object(kex.name(), l.names[l.updated]).Patch(field("changed"))
	l.updated++
}

// settle deletes the remaining objects, and fails the test unless all was handled once.
func (l *load) settle() {
	l.t.Helper()
	for l.updated < len(l.names) {
		l.update()
	}
	for _, name := range l.names {
		if l.deleted[name] {
			continue
		}
		if o := waitHandled(l.Object(kex.name(), name)); o.Get("status.field") != "changed" {
			l.t.Errorf("the status of %s is %v", name, o.Get("status"))
		}
		l.Object(kex.name(), name).Delete()
	}
	for _, name := range l.names {
		l.Object(kex.name(), name).WaitGone()
	}
	missed := func() []string { return l.operator.lacks(&l.watcher) }
	l.WaitUntil("all versions are seen", func() bool { return len(missed()) == 0 })
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
