package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/rehandle"
)

// The annotations of "kopf rehandle".
const (
	handlerVersions = "kopf.zalando.org/handler-versions"
	createMark      = "kopf.zalando.org/rehandle-handler.create"
)

// rehandling is a run of "kopf rehandle" for the handler "create" and the objects of the test.
type rehandling struct {
	cluster *kopftest.Cluster
	target  rehandle.Target
	options rehandle.Options

	mu    sync.Mutex
	notes []string
}

func newRehandling(cluster *kopftest.Cluster) *rehandling {
	r := &rehandling{cluster: cluster, options: rehandle.Options{Confirm: true, Rate: 100, Parallel: 1}}
	r.options.Note = func(text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notes = append(r.notes, text)
	}
	r.target = rehandle.Target{
		Handler: "create", Version: "2", Prefix: "kopf.zalando.org", Namespaces: []string{cluster.Namespace},
		Resources: []inspect.APIResource{{Group: plain.group, Version: "v1", Plural: plain.plural, Kind: plain.kind, Namespaced: true}},
	}
	return r
}

func (r *rehandling) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute) // a mark that no operator handles must not block the other tests
	defer cancel()
	return rehandle.Run(ctx, testcluster.Config(r.cluster.T()), r.target, r.options)
}

// start begins a run that the test waits for with the returned function.
func (r *rehandling) start(ctx context.Context) func() error {
	done := make(chan error, 1)
	go func() { done <- r.run(ctx) }()
	return func() error { return <-done }
}

func (r *rehandling) said(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.notes, "\n"), text)
}

// createdBefore creates objects that an operator without versions has handled.
func createdBefore(cluster *kopftest.Cluster, n int) []*kopftest.Object {
	cluster.T().Helper()
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, func(context.Context, *change) error { return nil }, kopf.ID("create"))
	})
	var objects []*kopftest.Object
	for i := range n {
		objects = append(objects, cluster.Create(plain.of(tree{"metadata": tree{"name": fmt.Sprint("x", i)}})))
	}
	for _, x := range objects {
		waitHandled(x)
		if annotation(x.Get(), handlerVersions) != "" {
			cluster.T().Errorf("an operator without versions stores one: %v", x.Get())
		}
	}
	op.Stop()
	return objects
}

func annotation(o *kopf.Object, name string) string {
	text, _ := kopf.GetOr(o, "metadata.annotations", tree{})[name].(string)
	return text
}

// registersVersion registers a second version of the handler.
func registersVersion(create func(context.Context, *change) error, opts ...kopf.CreateOption) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, create, append(opts, kopf.ID("create"), kopf.Version("2"))...)
	}
}

func TestRehandle_StopsAfterFailuresAndContinues(t *testing.T) {
	cluster, b := newCluster(t), &breakable{}
	objects := createdBefore(cluster, 5)
	op := cluster.Run(registersVersion(b.handler("create")))
	r := newRehandling(cluster)
	r.options.Confirm = false
	if err := r.run(t.Context()); err != nil || !r.said("0 handled by it, 5 left") {
		t.Fatalf("it counts %q, and returns %v", r.notes, err)
	}
	r.options.Confirm, r.options.MaxFailures = true, 2
	stopped, ok := errors.AsType[*rehandle.StoppedError](r.run(t.Context()))
	if !ok || stopped.Failed != 2 || !r.said("no create today") {
		t.Fatalf("two failures stop it with %v, after %q", stopped, r.notes)
	}
	if _, ok := errors.AsType[*rehandle.StoppedError](r.run(t.Context())); !ok {
		t.Error("the failures of the first run do not count")
	}
	b.are(t, "create", "create")
	for _, x := range objects {
		if annotation(x.Get(), createMark) != "" {
			t.Errorf("a mark stays: %v", x.Get())
		}
	}
	b.mended.Store(true)
	r.options.MaxFailures = 3
	if err := r.run(t.Context()); err != nil || !r.said("3 handled by it, 0 left, 2 failed") {
		t.Errorf("the next run returns %v, after %q", err, r.notes)
	}
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentRetryFailed}); err != nil {
		t.Fatal(err)
	}
	for _, x := range objects {
		x.WaitFor("the second version has handled it", func(o *kopf.Object) bool {
			return annotation(o, handlerVersions) == `{"versions":{"create":"2"}}` && len(failures(o)) == 0
		})
	}
	if n := b.count("create"); n != 7 {
		t.Errorf("%d calls instead of 7", n)
	}
}

func TestRehandle_ContinuesAfterAKilledOperatorAndADeletedObject(t *testing.T) {
	cluster := newCluster(t)
	objects := createdBefore(cluster, 3)
	before := map[string]string{}
	for _, x := range objects {
		x.Annotate("kopf.zalando.org/other_fn", `{"purpose":"create","retries":1}`) // of Kopf for Python
		before[x.Name] = annotation(x.Get(), lastHandled)
	}
	var c calls
	begun := make(chan string, 10)
	op := cluster.Run(registersVersion(func(ctx context.Context, r *change) error {
		c.add(r.Name)
		if !r.Rehandled || r.Reason != kopf.ReasonCreate || r.Old != nil {
			t.Errorf("%s is called for %s, old %v, rehandled %v", r.Name, r.Reason, r.Old, r.Rehandled)
		}
		if len(c.all()) > 2 {
			return nil
		}
		begun <- r.Name
		<-ctx.Done()
		return ctx.Err()
	}))
	r := newRehandling(cluster)
	wait := r.start(t.Context())
	first := <-begun
	op.Kill()
	op.Start()
	if again := <-begun; again != first {
		t.Errorf("the next process calls %s instead of %s", again, first)
	}
	op.Kill()
	cluster.Object(plain.name(), first).Delete()
	op.Start()
	if err := wait(); err != nil || !r.said("2 handled by it, 0 left, 1 deleted") {
		t.Fatalf("it returns %v, after %q", err, r.notes)
	}
	for _, x := range objects {
		if x.Name == first {
			continue
		}
		if c.count(x.Name) != 1 {
			t.Errorf("%s is called %d times", x.Name, c.count(x.Name))
		}
		now := x.Get()
		if annotation(now, lastHandled) != before[x.Name] || annotation(now, "kopf.zalando.org/other_fn") == "" {
			t.Errorf("the records of other operators are changed: %v", now)
		}
	}
}

func TestRehandle_WaitsForAPausedOperatorAndIgnoresOldBuilds(t *testing.T) {
	cluster := newCluster(t)
	x := createdBefore(cluster, 1)[0]
	old := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, plains, func(_ context.Context, c *change) error {
			if c.Name == x.Name {
				t.Error("a build without the version calls the handler")
			}
			return nil
		}, kopf.ID("create"))
	})
	ctx, interrupt := context.WithCancel(t.Context())
	r := newRehandling(cluster)
	wait := r.start(ctx)
	marked := x.WaitFor("it is marked", func(o *kopf.Object) bool { return annotation(o, createMark) != "" })
	waitHandled(cluster.Create(plain.of(tree{"metadata": tree{"name": "later"}}))) // the operator has seen the mark before
	if now := x.Get(); now.Get("metadata.resourceVersion") != marked.Get("metadata.resourceVersion") {
		t.Errorf("a build without the version writes: %v", now)
	}
	interrupt()
	if err := wait(); !errors.Is(err, context.Canceled) || annotation(x.Get(), createMark) != "" {
		t.Errorf("an interrupted run returns %v, and leaves %v", err, x.Get())
	}
	old.Stop()
	var c calls
	var paused atomic.Bool
	op := cluster.Run(registersVersion(func(context.Context, *change) error {
		if paused.Load() {
			t.Error("a paused operator calls the handler")
		}
		c.add("create")
		return nil
	}))
	waitHandled(x)
	c.are(t)
	op.Pause()
	paused.Store(true)
	witness := make(chan string, 100)
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, plains, func(_ context.Context, e *event) error {
			if annotation(e.Object, createMark) != "" {
				witness <- e.Name
			}
			return nil
		}, kopf.ID("event"))
	})
	wait = r.start(t.Context())
	<-witness // an operator that is not paused has seen the mark
	paused.Store(false)
	op.Resume()
	if err := wait(); err != nil {
		t.Error(err)
	}
	c.are(t, "create", "create") // one call for x, and one for the object that was created later
}

func TestRehandle_FollowsTheResumingOfTheNextProcess(t *testing.T) {
	cluster := newCluster(t)
	objects := createdBefore(cluster, 2)
	r := newRehandling(cluster)
	r.options.Parallel = 2
	wait := r.start(t.Context())
	for _, x := range objects { // no operator runs
		x.WaitFor("it is marked", func(o *kopf.Object) bool { return annotation(o, createMark) != "" })
	}
	var c calls
	cluster.Run(func(reg *kopf.Registry) {
		registersVersion(c.does("create"))(reg)
		kopf.OnResume(reg, plains, c.does("resume"), kopf.ID("resume"))
	})
	if err := wait(); err != nil || !r.said("2 handled by it, 0 left") {
		t.Errorf("it returns %v, after %q", err, r.notes)
	}
	if c.count("create") != 2 || c.count("resume") != 2 {
		t.Errorf("called: %v", c.all())
	}
}

func TestRehandle_ShardsHandleTheirOwnObjects(t *testing.T) {
	cluster := newCluster(t)
	const n = 6
	createdBefore(cluster, n)
	var c calls
	register := registersVersion(func(_ context.Context, r *change) error {
		c.add(r.Name)
		return nil
	})
	one := cluster.Run(register, sharded(cluster, "one", false))
	owns(one, manyShards)
	two := cluster.Run(register, sharded(cluster, "two", false))
	owns(one, manyShards/2)
	owns(two, manyShards/2)
	r := newRehandling(cluster)
	r.options.Parallel = n
	if err := r.run(t.Context()); err != nil || !r.said(fmt.Sprintf("%d handled by it, 0 left", n)) {
		t.Fatalf("it returns %v, after %q", err, r.notes)
	}
	for i := range n {
		if name := fmt.Sprint("x", i); c.count(name) != 1 {
			t.Errorf("%s is called %d times", name, c.count(name))
		}
	}
}
