package watch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestMain(m *testing.M) { testmain.Run(m, testcluster.Exit) }

// tape records the events and restarts of a stream.
type tape struct {
	mu       sync.Mutex
	events   map[string][]string // types and versions, by name
	listed   int
	restarts []watch.Restart
}

func (p *tape) record(t *testing.T, options watch.Options) {
	t.Helper()
	p.events = make(map[string][]string)
	options.Handle = func(e watch.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events[e.Object.Name] = append(p.events[e.Object.Name], e.Type+"@"+e.Object.ResourceVersion)
	}
	options.Listed = func(int) { p.mu.Lock(); defer p.mu.Unlock(); p.listed++ }
	options.Restarted = func(r watch.Restart) { p.mu.Lock(); defer p.mu.Unlock(); p.restarts = append(p.restarts, r) }
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch.Run(ctx, options)
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// has waits until exactly the given events of an object were recorded.
func (p *tape) has(t *testing.T, name string, want ...string) {
	t.Helper()
	testcluster.Eventually(t, "events of "+name, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if got := fmt.Sprint(p.events[name]); got != fmt.Sprint(want) {
			return fmt.Errorf("%s instead of %v; restarts: %+v", got, want, p.restarts)
		}
		return nil
	})
}

// undisturbed fails the test if the stream was interrupted. A server that has just begun to serve the resource may refuse or end a stream.
func (p *tape) undisturbed(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.restarts {
		if r.Reason != watch.Throttled && r.Reason != watch.Closed {
			t.Errorf("%+v", r)
		}
	}
}

func example(name string) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": name}}
}

func patch(t *testing.T, client *kube.Client, res *resources.Resource, namespace, name string, n int) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"spec": map[string]any{"n": n}})
	if err != nil {
		t.Fatal(err)
	}
	o, err := client.Patch(t.Context(), res, namespace, name, "", kube.MergePatch, body)
	if err != nil {
		t.Fatal(err)
	}
	return o.ResourceVersion
}

func TestRun_RealClusterListsAndStreams(t *testing.T) {
	var streamed atomic.Int32
	client := testcluster.Client(t, kube.ClientOptions{Observe: func(call kube.Call) {
		// A server that has just begun to serve the resource may ask to be called again.
		if strings.Contains(call.Path, "sendInitialEvents") && call.Status == http.StatusOK {
			streamed.Add(1)
		}
	}})
	examples := testcluster.Examples(t, client)
	mine, other := testcluster.Namespace(t, client), testcluster.Namespace(t, client)
	a := testcluster.Create(t, client, examples, mine, example("a"))

	var everywhere, here tape
	everywhere.record(t, watch.Options{Client: client, Resource: examples})
	here.record(t, watch.Options{Client: client, Resource: examples, Namespace: mine})
	for _, p := range []*tape{&everywhere, &here} {
		p.has(t, "a", "@"+a.ResourceVersion)
	}
	b := testcluster.Create(t, client, examples, other, example("b"))
	changed := patch(t, client, examples, mine, "a", 2)
	for _, p := range []*tape{&everywhere, &here} {
		p.has(t, "a", "@"+a.ResourceVersion, "MODIFIED@"+changed)
	}
	everywhere.has(t, "b", "ADDED@"+b.ResourceVersion)
	here.has(t, "b")
	if err := testcluster.Delete(t.Context(), client, examples, mine, "a"); err != nil {
		t.Fatal(err)
	}
	testcluster.Eventually(t, "the end of the object", func() error {
		here.mu.Lock()
		defer here.mu.Unlock()
		if got := here.events["a"]; len(got) != 3 || got[2][:7] != "DELETED" {
			return fmt.Errorf("%s", got)
		}
		return nil
	})
	if streamed.Load() != 2 {
		t.Error("the lists were not streamed")
	}
	everywhere.undisturbed(t)
	here.undisturbed(t)
}

func TestRun_MetadataOfSelectedObjects(t *testing.T) {
	client := testcluster.Client(t, kube.ClientOptions{})
	secrets := &resources.Resource{Version: "v1", Plural: "secrets", Kind: "Secret", Namespaced: true}
	namespace := testcluster.Namespace(t, client)
	secret := func(name, owner string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name, "labels": map[string]any{"owner": owner}}, "stringData": map[string]any{"password": "hunter2"}}
	}
	testcluster.Create(t, client, secrets, namespace, secret("listed", "us"))
	testcluster.Create(t, client, secrets, namespace, secret("stranger", "them"))

	events := make(chan watch.Event)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch.Run(ctx, watch.Options{
			Client: client, Resource: secrets, Namespace: namespace, LabelSelector: "owner=us", MetadataOnly: true, KeepManagedFields: true,
			Handle: func(e watch.Event) {
				select {
				case events <- e:
				case <-ctx.Done():
				}
			},
		})
	}()
	defer func() { cancel(); <-done }()
	receive := func(kind, name string) {
		t.Helper()
		select {
		case e := <-events:
			raw := string(e.Object.Raw)
			if e.Type != kind || e.Object.Name != name || e.Object.Kind != "Secret" || e.Object.APIVersion != "v1" || !strings.Contains(raw, `"kind":"Secret"`) ||
				!strings.Contains(raw, "managedFields") || strings.Contains(raw, `"data"`) {
				t.Errorf("want %q %s, got %q %s", kind, name, e.Type, raw)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no event %q of %s", kind, name)
		}
	}
	receive(watch.Listed, "listed")
	testcluster.Create(t, client, secrets, namespace, secret("other-stranger", "them"))
	testcluster.Create(t, client, secrets, namespace, secret("new", "us"))
	receive(watch.Added, "new")
	if _, err := client.Patch(t.Context(), secrets, namespace, "new", "", kube.MergePatch, []byte(`{"metadata":{"labels":{"owner":"them"}}}`)); err != nil {
		t.Fatal(err)
	}
	receive(watch.Deleted, "new")
}

func TestRun_RealServerTimeoutsLoseAndRepeatNothing(t *testing.T) {
	client := testcluster.Client(t, kube.ClientOptions{})
	examples := testcluster.Examples(t, client)
	namespace := testcluster.Namespace(t, client)
	a := testcluster.Create(t, client, examples, namespace, example("a"))
	var p tape
	p.record(t, watch.Options{Client: client, Resource: examples, ServerTimeout: time.Second})
	want := []string{"@" + a.ResourceVersion}
	for n := 0; ; n++ {
		p.has(t, "a", want...)
		p.mu.Lock()
		closed := len(p.restarts)
		p.mu.Unlock()
		if closed >= 2 {
			break
		}
		want = append(want, "MODIFIED@"+patch(t, client, examples, namespace, "a", n))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listed != 1 {
		t.Errorf("listed %d times", p.listed)
	}
}

func TestRun_MissingResourceIsReported(t *testing.T) {
	client := testcluster.Client(t, kube.ClientOptions{})
	missing := &resources.Resource{Group: "not-yet.kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true}
	var p tape
	p.record(t, watch.Options{Client: client, Resource: missing})
	testcluster.Eventually(t, "a report", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.restarts) < 2 || p.restarts[1].Reason != watch.NotFound {
			return fmt.Errorf("%+v", p.restarts)
		}
		return nil
	})
}

func TestRun_RealAPIServerRestartLosesNothing(t *testing.T) {
	server := testcluster.NewPrivate(t)
	session, err := kube.NewSession(server.Config(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	client := kube.NewClient(kube.Fixed(session), kube.ClientOptions{})
	examples := testcluster.Examples(t, client)
	namespace := testcluster.Namespace(t, client)
	a := testcluster.Create(t, client, examples, namespace, example("a"))
	var p tape
	p.record(t, watch.Options{Client: client, Resource: examples})
	p.has(t, "a", "@"+a.ResourceVersion)

	server.Stop()
	server.Start()
	changed := patch(t, client, examples, namespace, "a", 2)
	testcluster.Eventually(t, "the change", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		// A server that has just started may have to list everything again.
		all := p.events["a"]
		if last := all[len(all)-1]; last != "MODIFIED@"+changed && last != "@"+changed {
			return fmt.Errorf("%v instead of %s; restarts: %+v", all, changed, p.restarts)
		}
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.restarts) == 0 {
		t.Error("the interruption was not reported")
	}
}
