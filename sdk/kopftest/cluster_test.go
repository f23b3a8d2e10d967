package kopftest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
)

const widgetsCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.kopftest.kopf.dev}
spec:
  scope: Namespaced
  group: kopftest.kopf.dev
  names: {kind: Widget, plural: widgets, singular: widget, shortNames: [wi]}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const widget = `
apiVersion: kopftest.kopf.dev/v1
kind: Widget
metadata: {name: one}
spec: {size: 1}
`

var widgets = kopf.Resource("kopftest.kopf.dev/v1", "widgets")

type request = kopf.Change[kopf.Object]

func TestCluster_OperatorHandlesChanges(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.ApplyFS(fstest.MapFS{"b.yaml": {Data: []byte(widgetsCRD)}, "a.yaml": {Data: []byte(widget)}}, "*.yaml")
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(_ context.Context, c *request) error {
			c.Logger.Info("a widget was made")
			c.Result = map[string]int{"doubled": 2 * kopf.GetOr(c.Object, "spec.size", 0)}
			return nil
		}, kopf.ID("create"))
		kopf.OnUpdate(r, widgets, func(_ context.Context, c *request) error {
			c.Patch.Set("status.sizes", []any{c.Old.Get("spec.size"), c.Object.Get("spec.size")})
			return nil
		}, kopf.ID("update"), kopf.Labels{"wanted": "yes"})
	})
	one := cluster.Object("wi", "one")
	operator.WaitHandled(one)
	var result struct{ Doubled int }
	if one.WaitResult("create", &result); result.Doubled != 2 {
		t.Errorf("%+v", result)
	}
	operator.WaitLog("a widget was made")

	one.Set("spec.size", 3)
	ignored := operator.WaitHandled(one)
	if h := ignored.Handlers[0]; h.Why == nil {
		t.Errorf("there is no reason why it was not called: %+v", h)
	}
	one.Label("wanted", "yes")
	one.Set("spec.size", 4)
	operator.WaitHandled(one)
	one.WaitValue("status.sizes", []int{3, 4})

	one.Set("status.sizes", nil)
	if got := one.Get(); got.Get("status.sizes") != nil {
		t.Errorf("%v", got.Get(""))
	}
	one.Annotate("note", "text") // an update, whose handler sets the status again
	if got := one.Get(); got.Get("metadata.annotations.note") != "text" {
		t.Errorf("%v", got.Get(""))
	}
	if names := cluster.List("widgets"); len(names) != 1 {
		t.Errorf("%d objects", len(names))
	}
	one.Delete()
	one.WaitGone()
	if one.Exists() {
		t.Error("it still exists")
	}
}

func TestOperator_KilledOneWritesNothing(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	var calls atomic.Int32
	entered := make(chan struct{}, 1)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(ctx context.Context, c *request) error {
			if calls.Add(1) == 1 {
				entered <- struct{}{}
				<-ctx.Done() // and then it succeeds, but the result is not used
			}
			return nil
		}, kopf.ID("create"))
	})
	one := cluster.Apply(widget)
	<-entered
	operator.Kill()
	if annotations := one.Get().Get("metadata.annotations"); annotations != nil {
		t.Errorf("the killed operator has left %v", annotations)
	}
	operator.Start()
	operator.WaitHandled(one)
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls", n)
	}
	operator.Restart()
	operator.WaitHandled(one)
	if n := calls.Load(); n != 2 {
		t.Errorf("%d calls after the restart", n)
	}
	operator.Stop()
}

func TestOperator_WaitRetryingAndWaitFailed(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(_ context.Context, c *request) error {
			if c.Object.Get("spec.give-up") != nil {
				return kopf.Permanentf("given up")
			}
			return errors.New("not yet")
		}, kopf.ID("create"))
	}, func(o *kopf.Operator) { o.Settings.Execution.DefaultRetryDelay = time.Hour })
	one := cluster.Apply(widget)
	if state := operator.WaitRetrying(one); state.Handlers[0].Error.Message != "not yet" {
		t.Errorf("%+v", state.Handlers)
	}
	two := cluster.Apply("{apiVersion: kopftest.kopf.dev/v1, kind: Widget, metadata: {name: two}, spec: {give-up: true}}")
	if state := operator.WaitFailed(two); state.Handlers[0].Error.Message != "given up" {
		t.Errorf("%+v", state.Handlers)
	}
}

// A startup handler chooses where progress is kept, after the operator was made.
func TestWaitRetrying_ReadsStorageSetAtStartup(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	storage := storage.Annotations(storage.AnnotationNames{Prefix: "own.example.com"})
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			a.Settings.Persistence.ProgressStorage = storage
			return nil
		}, kopf.ID("settings"))
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { return errors.New("not yet") }, kopf.ID("create"))
	}, func(o *kopf.Operator) { o.Settings.Execution.DefaultRetryDelay = time.Hour })
	one := cluster.Apply(widget)
	operator.WaitRetrying(one)
	record, err := storage.Fetch(t.Context(), one.Get(), "create")
	if err != nil || record == nil || record.Retries != 1 {
		t.Errorf("the record is %+v: %v", record, err)
	}
	// The second attempt is not recorded, although the object is newer than the state.
	if operator.recorded(&inspect.Object{ResourceVersion: "1"}, inspect.HandlerState{ID: "create", Attempt: 2}, one.Get()) {
		t.Error("the storage of the startup handler is unknown")
	}
}

func TestOperator_WaitHandledAfterFailure(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, widgets, func(_ context.Context, c *request) error {
			if kopf.GetOr(c.Object, "spec.size", 0)%2 == 0 {
				return kopf.Permanentf("an even size")
			}
			return nil
		}, kopf.ID("update"))
	})
	one := cluster.Apply(widget)
	operator.WaitHandled(one)
	for n := range 5 {
		one.Set("spec.size", 10+2*n)
		operator.WaitFailed(one)
		one.Set("spec.size", 11+2*n)
		operator.WaitHandled(one)
	}
	failure := failureOf(t, func(d testing.TB) {
		op := *operator
		op.cluster = cluster.With(d)
		op.WaitFailed(one)
	})
	wantAll(t, failure, "waited until a handler has failed permanently, but it is settled")
}

func TestOperator_WaitHandledWithEventHandlersOnly(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, widgets, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("all"))
		kopf.OnEvent(r, widgets, func(context.Context, *kopf.Event[kopf.Object]) error { return nil },
			kopf.ID("some"), kopf.Labels{"wanted": "yes"})
	})
	one := cluster.Apply(widget)
	state := operator.WaitHandled(one)
	if len(state.Handlers) != 2 || state.Handlers[0].State != inspect.PhaseDone || state.Handlers[1].State != inspect.PhaseFiltered {
		t.Errorf("%+v", state.Handlers)
	}
	one.Label("wanted", "yes")
	if state := operator.WaitHandled(one); state.Handlers[1].State != inspect.PhaseDone {
		t.Errorf("%+v", state.Handlers)
	}
}

func TestOperator_WaitHandledWaitsForNewestVersion(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	var updates atomic.Int32
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, widgets, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
		kopf.OnUpdate(r, widgets, func(context.Context, *request) error {
			updates.Add(1)
			return nil
		}, kopf.ID("update"))
	})
	one := cluster.Apply(widget)
	operator.WaitHandled(one)
	for n := range int32(10) {
		one.Set("spec.size", 10+n)
		operator.WaitHandled(one)
		if updates.Load() != n+1 {
			t.Fatalf("%d updates instead of %d", updates.Load(), n+1)
		}
	}
}

func TestReport_NamesObjectHandlersAndLog(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { return errors.New("no luck") }, kopf.ID("create"))
		kopf.OnUpdate(r, widgets, func(context.Context, *request) error { return nil }, kopf.ID("update"))
	})
	one := cluster.Apply(widget)
	operator.WaitRetrying(one)
	failure := failureOf(t, func(d testing.TB) {
		cluster := cluster.With(d)
		cluster.timeout = 5 * time.Second // it is read before that
		cluster.Object("widgets", "one").WaitValue("spec.size", 2)
	})
	wantAll(t, failure,
		"Widget one: waited until spec.size is 2; it is 1",
		"    kind: Widget\n", "size: 1\n",
		"for the operator it is retrying:", "create ", "attempt 1", "arbitrary error: no luck",
		"update ", "reason is create, not update",
		"the last lines of the operator's log:", "Handler 'create' failed with an exception")
}

func TestCleanup_KeepsClusterScopedObjectsOfOthers(t *testing.T) {
	const class = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: kopftest-%s}, provisioner: kubernetes.io/no-provisioner}"
	outer := New(t)
	made := outer.Apply(fmt.Sprintf(class, "made"))
	t.Run("another test", func(t *testing.T) {
		cluster := New(t)
		cluster.Apply(fmt.Sprintf(class, "made"))
		cluster.Apply(fmt.Sprintf(class, "remade"))
	})
	if !made.Exists() {
		t.Error("what the other test found is gone")
	}
	if outer.Object("sc", "kopftest-remade").Exists() {
		t.Error("what the other test made is still there")
	}
}

func TestOperator_InvalidRegistryFailsTest(t *testing.T) {
	cluster := New(t)
	failure := failureOf(t, func(d testing.TB) {
		cluster := cluster.With(d)
		cluster.Run(func(r *kopf.Registry) {
			kopf.OnCreate(r, widgets, func(context.Context, *request) error { return nil })
		})
	})
	wantAll(t, failure, "the operator has ended before it was ready", "function literal", "cluster_test.go:")
}

func TestWaitFor_TypedObject(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(_ context.Context, c *kopf.Change[sized]) error {
			kopf.Edit(c.Patch, func(s *sized) { s.Status.Phase = "Made" })
			return nil
		}, kopf.ID("create"))
	})
	one := cluster.Apply(widget)
	made := WaitFor(one, "it is made", func(s *sized) bool { return s.Status.Phase == "Made" })
	if made.Name != "one" || made.Spec.Size != 1 {
		t.Errorf("%+v", made)
	}
	one.Set("spec.size", "big")
	failure := failureOf(t, func(d testing.TB) {
		object := *one
		object.cluster = cluster.With(d)
		WaitFor(&object, "it is small", func(s *sized) bool { return s.Spec.Size == 0 })
	})
	wantAll(t, failure, "waited until it is small", "spec.size is a string")
}

func TestApply_UnknownKindNamesMissingDefinition(t *testing.T) {
	cluster := New(t)
	failure := failureOf(t, func(d testing.TB) {
		cluster := cluster.With(d)
		cluster.Apply("{apiVersion: nobody.kopf.dev/v1, kind: Nothing, metadata: {name: x}}")
	})
	wantAll(t, failure, "the YAML, document 1: Nothing x", "is its definition applied?")
}

func TestNew_WrongKubeconfigNamesVariable(t *testing.T) {
	failure := failureOf(t, func(d testing.TB) {
		t.Setenv(kubeconfigVar, "/nowhere/kubeconfig")
		New(d)
	})
	wantAll(t, failure, kubeconfigVar, "/nowhere/kubeconfig")
}

func TestNew_UsesClusterOfKubeconfig(t *testing.T) {
	outer := New(t)
	outer.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: outer}}")
	t.Setenv(kubeconfigVar, outer.Kubeconfig())
	for _, context := range []string{"", "kopftest"} {
		t.Setenv(contextVar, context)
		cluster := New(t)
		if !cluster.lasting {
			t.Error("it is thought to end with the tests")
		}
		cluster.Namespace = outer.Namespace
		if !cluster.Object("configmaps", "outer").Exists() {
			t.Error("it is another one")
		}
		config, err := loader(cluster.Kubeconfig()).ClientConfig()
		if err != nil || config.Host != outer.Config.Host {
			t.Errorf("its own file is of another one: %v", err)
		}
		namespace, _, err := loader(cluster.Kubeconfig()).Namespace()
		if err != nil || namespace != cluster.Namespace {
			t.Errorf("its own file is of the namespace %s: %v", namespace, err)
		}
	}
	t.Setenv(contextVar, "nobody's")
	wantAll(t, failureOf(t, func(d testing.TB) { New(d) }), kubeconfigVar, "nobody's")
}

func TestNew_NoControlPlaneNamesCommand(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("HOME", empty)
	t.Setenv("XDG_CACHE_HOME", empty)
	t.Setenv(testcluster.BinaryVar, "")
	if err := testcluster.StopShared(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := testcluster.StopShared(); err != nil { // which forgets the failure
			t.Error(err)
		}
	})
	wantAll(t, failureOf(t, func(d testing.TB) { New(d) }),
		"kopf cluster prepare", testcluster.BinaryVar, kubeconfigVar, skipVar, empty)
}

func TestOperator_KillRefusedWithOwnLogin(t *testing.T) {
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	t.Setenv("KUBECONFIG", cluster.Kubeconfig())
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { return nil }, kopf.ID("create"))
	}, func(o *kopf.Operator) { o.Config = nil })
	operator.WaitHandled(cluster.Apply(widget))
	failure := failureOf(t, func(d testing.TB) {
		op := *operator
		op.cluster = cluster.With(d)
		op.Kill()
	})
	wantAll(t, failure, "cannot be killed", "Stop")
}

func TestCluster_CreateAndPatch(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	one := cluster.Create(map[string]any{
		"apiVersion": "kopftest.kopf.dev/v1", "kind": "Widget", "metadata": map[string]any{"generateName": "made-"},
	})
	one.Patch("spec: {size: 2}\nstatus: {phase: Made}\nmetadata: {labels: {new: 'yes'}}")
	made := one.Get()
	if made.Get("spec.size") != int64(2) || made.Get("status.phase") != "Made" || made.Get("metadata.labels.new") != "yes" {
		t.Errorf("after the patch, there is %v", made.Get(""))
	}
	one.Patch(map[string]any{"spec": map[string]any{"size": nil}})
	if size := one.Get().Get("spec.size"); size != nil {
		t.Errorf("the size is %v", size)
	}
	failure := failureOf(t, func(d testing.TB) {
		cluster.With(d).Create("{apiVersion: kopftest.kopf.dev/v1, kind: Widget, metadata: {name: " + one.Name + "}}")
	})
	wantAll(t, failure, "create Widget "+one.Name, "already exists")
}

func TestCluster_CreateNamespace(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	other := cluster.CreateNamespace(cluster.Namespace + "-other")
	operator := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, widgets, func(context.Context, *request) error { return nil }, kopf.ID("create"))
	}, func(o *kopf.Operator) { o.Namespaces = append(o.Namespaces, other.Namespace) })
	there := other.Apply(widget)
	operator.WaitHandled(there)
	if there.Namespace != other.Namespace || len(other.List("widgets")) != 1 || len(cluster.List("widgets")) != 0 {
		t.Errorf("it is in %s", there.Namespace)
	}
}

func TestCluster_WaitUntil(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	left := 3
	cluster.WaitUntil("it is looked at often enough", func() bool { left--; return left == 0 })
	failure := failureOf(t, func(d testing.TB) {
		impatient := cluster.With(d)
		impatient.timeout = time.Millisecond
		impatient.WaitUntil("the impossible happens", func() bool { return false })
	})
	wantAll(t, failure, "waited until the impossible happens: this did not happen within")
}
