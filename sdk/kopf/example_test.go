package kopf_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// Claim is the type of the examples' objects: the fields that their handlers use.
type Claim struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Size string `json:"size"`
		Node string `json:"node"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

var claims = kopf.Resource("example.com/v1", "claims")

func provision(_ context.Context, c *kopf.Change[Claim]) error {
	if c.Object.Spec.Size == "" {
		return kopf.Permanentf("spec.size must be set")
	}
	kopf.Edit(c.Patch, func(claim *Claim) { claim.Status.Phase = "Bound" })
	return nil
}

func resize(_ context.Context, c *kopf.FieldChange[string]) error {
	fmt.Printf("from %s to %s\n", c.Old, c.New)
	return nil
}

// t stands for the argument of a test function.
var t testing.TB = exampleTest{new(testing.T)}

type exampleTest struct{ testing.TB }

func (exampleTest) Context() context.Context { return context.Background() }

// quiet is a logger for requests that the examples make by hand.
var quiet = slog.New(slog.DiscardHandler)

// Register handlers in a function that kopf dev, kopf run or a main function calls.
func Example_register() {
	register := func(r *kopf.Registry) {
		kopf.OnCreate(r, claims, provision)
		kopf.OnField(r, claims, "spec.size", resize)
	}

	var r kopf.Registry
	register(&r)
	for _, h := range kopftest.Handlers(&r) {
		fmt.Println(h.Kind, h.ID, "of", h.Selector)
	}
	fmt.Println("registration error:", r.Err())
	// Output:
	// create provision of example.com/v1 claims
	// field resize/spec.size of example.com/v1 claims
	// registration error: <nil>
}

// Filters are options of the registration. A handler is called only if all of them match.
func Example_filter() {
	var r kopf.Registry
	kopf.OnCreate(&r, claims, provision,
		kopf.Labels{"tier": "gold", "paused": kopf.Absent},
		kopf.Annotations{"team": kopf.Where(func(_ context.Context, team string) bool { return team != "" })},
		kopf.When(func(_ context.Context, c *Claim) bool { return c.Spec.Size != "" }),
	)
	kopf.OnUpdate(&r, claims, provision, kopf.Field("spec.size"), kopf.From("1Gi"), kopf.To(kopf.Present))

	// Errors in registrations are reported together, with their places in the code.
	kopf.OnCreate(&r, claims, provision, kopf.ID("other"), kopf.Labels{"tier": 3})
	fmt.Println(r.Err() != nil)
	// Output:
	// true
}

// The error that a handler returns decides whether and when it is called again.
func Example_retry() {
	connect := func(_ context.Context, c *kopf.Change[Claim]) error {
		switch {
		case c.Object.Spec.Size == "":
			return kopf.Permanentf("spec.size must be set") // fails at once, permanently
		case c.Retry == 0:
			return kopf.Temporaryf(10*time.Second, "the disk is not there yet") // again in 10s
		case c.Retry == 1:
			return errors.New("timeout") // again after the backoff
		}
		return nil
	}
	var r kopf.Registry
	kopf.OnCreate(&r, claims, connect, kopf.ID("connect"),
		kopf.Attempts(5), kopf.RetryDelay(time.Minute), kopf.TotalTimeout(time.Hour))

	for retry := range 3 {
		c := &kopf.Change[Claim]{Object: &Claim{}, Attempt: kopf.Attempt{Retry: retry}}
		c.Object.Spec.Size = "1Gi"
		fmt.Println(retry, connect(context.Background(), c))
	}
	// Output:
	// 0 the disk is not there yet
	// 1 timeout
	// 2 <nil>
}

// A handler changes its object through the patch of the request.
func Example_patch() {
	object, err := kopf.ObjectOf(map[string]any{"metadata": map[string]any{"name": "data"}, "spec": map[string]any{"size": "1Gi"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := &kopf.Change[Claim]{Request: kopf.Request{Patch: kopftest.NewPatch(object)}}

	kopf.Edit(c.Patch, func(claim *Claim) { claim.Status.Phase = "Bound" }) // typed
	c.Patch.Set("metadata.labels[example.com/bound]", "yes")                // by path
	c.Patch.Remove("metadata.annotations.pending")

	merge, err := c.Patch.MarshalJSON()
	fmt.Println(string(merge), err)
	// Output:
	// {"metadata":{"annotations":{"pending":null},"labels":{"example.com/bound":"yes"}},"status":{"phase":"Bound"}} <nil>
}

// A daemon runs in the background for as long as its object exists and matches the filters.
func ExampleDaemon() {
	watchDisk := func(_ context.Context, d *kopf.DaemonRun[Claim]) error {
		for d.Sleep(time.Minute) {
			fmt.Println(d.Object().Metadata.Name, "is", d.Object().Spec.Size)
		}
		return nil
	}
	var r kopf.Registry
	kopf.Daemon(&r, claims, watchDisk, kopf.ID("watch-disk"),
		kopf.When(func(_ context.Context, c *Claim) bool { return c.Spec.Size != "" }))

	// In a test, kopftest drives the daemon from one sleep to the next.
	run := kopftest.Daemon[Claim](t, "{metadata: {name: data}, spec: {size: 1Gi}}")
	run.Start(t.Context(), watchDisk)
	fmt.Println("sleeps", run.NextSleep())
	run.NextSleep()
	run.Set("spec.size", "2Gi")
	run.NextSleep()
	if err := run.Stop(kopf.StopResourceDeleted); err != nil {
		t.Error(err)
	}
	// Output:
	// sleeps 1m0s
	// data is 1Gi
	// data is 2Gi
}

// A timer calls its handler again and again for as long as its object exists and matches the filters.
func ExampleTimer() {
	probe := func(_ context.Context, tick *kopf.TimerTick[Claim]) error {
		tick.Patch.Set("status.checked", true)
		return nil
	}
	var r kopf.Registry
	kopf.Timer(&r, claims, probe, kopf.ID("probe"), kopf.Interval(30*time.Second), kopf.InitialDelay(5*time.Second))

	tick := &kopf.TimerTick[Claim]{Request: kopf.Request{Patch: kopftest.NewPatch(nil), Logger: quiet}}
	fmt.Println(probe(context.Background(), tick))
	merge, err := tick.Patch.MarshalJSON()
	fmt.Println(string(merge), err)
	// Output:
	// <nil>
	// {"status":{"checked":true}} <nil>
}

// An index keeps values of all objects in memory, by key, for handlers to look up.
func ExampleNewIndex() {
	var r kopf.Registry
	byNode := kopf.NewIndex(&r, claims, func(_ context.Context, i *kopf.IndexRequest[Claim]) (map[string]string, error) {
		return map[string]string{i.Object.Spec.Node: i.Object.Metadata.Name}, nil
	}, kopf.ID("by-node"))

	balance := func(ctx context.Context, c *kopf.Change[Claim]) error {
		neighbors := byNode.Get(ctx, c.Object.Spec.Node)
		slices.Sort(neighbors)
		fmt.Println("on", c.Object.Spec.Node, neighbors)
		return nil
	}
	kopf.OnCreate(&r, claims, balance, kopf.ID("balance"))

	ctx := kopftest.WithIndices(t.Context(), t, &r,
		"{metadata: {name: data, namespace: a, uid: '1'}, apiVersion: example.com/v1, kind: Claim, spec: {node: n1}}",
		"{metadata: {name: logs, namespace: a, uid: '2'}, apiVersion: example.com/v1, kind: Claim, spec: {node: n1}}")
	if err := balance(ctx, kopftest.Change[Claim](t, "spec: {node: n1}")); err != nil {
		t.Error(err)
	}
	// Output:
	// on n1 [data logs]
}

// The settings choose where the state of handling is kept on the objects.
func Example_storages() {
	var r kopf.Registry
	kopf.OnStartup(&r, func(_ context.Context, a *kopf.Activity) error {
		a.Settings.Persistence.Finalizer = "my-operator.example.com/finalizer"
		a.Settings.Persistence.ProgressStorage = storage.Annotations(storage.AnnotationNames{Prefix: "my-operator.example.com"})
		a.Settings.Persistence.DiffBaseStorage = storage.MultiDiffBase(
			storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Prefix: "my-operator.example.com"}), // read first, and written
			storage.AnnotationDiffBase(storage.DiffBaseAnnotation{}),                                  // of the time before, read and written
		)
		return nil
	}, kopf.ID("configure"))
	fmt.Println(r.Err())
	// Output:
	// <nil>
}

// A program that does more than operate embeds an operator.
func ExampleOperator() {
	var r kopf.Registry
	kopf.OnCreate(&r, claims, provision)
	operator := kopf.Operator{
		Registry:   &r,
		Namespaces: []string{"team-a", "preview-*"},
		Logger:     slog.New(logging.NewHandler(os.Stderr, nil)),
	}
	operator.Settings.Queueing.WorkerLimit = 20

	ctx, cancel := context.WithCancel(context.Background())
	cancel() // a real program cancels when it ends: Run returns after the handlers have finished
	fmt.Println(operator.Run(ctx))
	// Output:
	// <nil>
}

// Handlers are functions: a test calls them with requests of package kopftest.
func Example_test() {
	c := kopftest.Change[Claim](t, "spec: {size: 1Gi}")
	if err := provision(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	fmt.Println(kopftest.Patched(t, c.Patch).Get("status.phase"))

	err := provision(t.Context(), kopftest.Change[Claim](t, "spec: {}"))
	var permanent kopf.PermanentError
	fmt.Println(errors.As(err, &permanent), err)
	// Output:
	// Bound
	// true spec.size must be set
}
