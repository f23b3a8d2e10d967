package e2e

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// appliesMaps declares the permissions for ConfigMaps.
func appliesMaps() kopf.Option {
	return kopf.Uses(kopf.Resource("v1", "configmaps"), "get", "create", "patch")
}

// valueMap returns a ConfigMap with a value. Without a name, it gets the name of its parent.
func valueMap(name string, value any) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if text, ok := value.(string); ok {
		m.Data = map[string]string{"value": text}
	}
	return m
}

// applyMap applies a ConfigMap with a field of its parent.
func applyMap(ctx context.Context, c *change) error {
	return kopf.Apply(ctx, valueMap("", c.Body.Get("spec.field")))
}

// appliedBy returns the registration of a create and update handler that applies children.
func appliedBy(fn func(context.Context, *change) error, opts ...kopf.RetryOption) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		create, update := []kopf.CreateOption{kopf.ID("ensure")}, []kopf.UpdateOption{kopf.ID("ensure")}
		for _, opt := range opts {
			create, update = append(create, opt), append(update, opt)
		}
		kopf.OnCreate(r, kexes, fn, create...)
		kopf.OnUpdate(r, kexes, fn, update...)
	}
}

func TestApply_CreatesUpdatesAndLeavesToGarbageCollection(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(appliedBy(func(ctx context.Context, c *change) error {
		child := valueMap("", c.Body.Get("spec.field"))
		if c.Reason == kopf.ReasonCreate {
			child.Data["first"] = "true"
		}
		return kopf.Apply(ctx, child, &unstructured.Unstructured{Object: tree{
			"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": "other"}, "stringData": tree{"a": "1"},
		}})
	}, appliesMaps(), kopf.Uses(kopf.Resource("v1", "secrets"), "get", "create", "patch")))
	x := cluster.Create(example("x"))
	op.WaitHandled(x)
	child, secret := cluster.Object("configmaps", "x"), cluster.Object("secrets", "other")
	before := child.Get()
	if got, want := asJSON(before.Get("data")), `{"first":"true","value":"value"}`; got != want {
		t.Errorf("the data are %s, want %s", got, want)
	}
	uid := x.Get().Get("metadata.uid")
	marks := asJSON([]any{
		tree{"kopf.dev/owner-uid": uid}, nil,
		[]any{tree{"apiVersion": "kopf.dev/v1", "blockOwnerDeletion": true, "controller": true, "kind": "KopfExample", "name": "x", "uid": uid}},
	})
	for _, o := range []*kopf.Object{before, secret.Get()} {
		if got := asJSON([]any{o.Get("metadata.labels"), o.Get("metadata.annotations"), o.Get("metadata.ownerReferences")}); got != marks {
			t.Errorf("the marks are %s, want %s", got, marks)
		}
	}

	x.Patch(field("changed"))
	op.WaitHandled(x)
	if got, want := asJSON(child.Get().Get("data")), `{"value":"changed"}`; got != want {
		t.Errorf("the data are %s, want %s", got, want)
	}
	if child.Get().Get("metadata.uid") != before.Get("metadata.uid") {
		t.Error("the child was replaced")
	}
	x.Delete()
	x.WaitGone()
	child.WaitGone()
	secret.WaitGone()
}

func TestApply_RetriesMakeNoDuplicates(t *testing.T) {
	for name, fault := range map[string]kopftest.Fault{
		"the answer is lost":           {Kind: kopftest.FaultDrop, AfterEffect: true},
		"the answer is an error":       {Kind: kopftest.FaultStatus, Code: http.StatusInternalServerError, AfterEffect: true},
		"the operator is killed":       {Kind: kopftest.FaultKill, AfterEffect: true},
		"the request is lost":          {Kind: kopftest.FaultDrop},
		"the operator is killed first": {Kind: kopftest.FaultKill},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, c := newCluster(t), &calls{}
			proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{{
				Match: kopftest.Requests(http.MethodPatch, "configmaps"), Fault: fault, Times: 1,
			}}})
			defer runReplaced(cluster, appliedBy(func(ctx context.Context, ch *change) error {
				if err := applyMap(ctx, ch); err != nil {
					return err
				}
				c.add("applied")
				if c.count("applied") < 3 {
					return kopf.Temporaryf(0, "again")
				}
				return nil
			}, appliesMaps()), proxy)()
			x := cluster.Create(example("x"))
			waitHandled(x)
			if len(proxy.Injected()) != 1 {
				t.Errorf("injected: %v", proxy.Injected())
			}
			names := []any{}
			for _, m := range cluster.List("configmaps") {
				names = append(names, m.Get("metadata.name"))
			}
			slices.SortFunc(names, func(a, b any) int { return len(a.(string)) - len(b.(string)) })
			if asJSON(names) != `["x","kube-root-ca.crt"]` && asJSON(names) != `["x"]` {
				t.Errorf("the ConfigMaps are %v", names)
			}
			c.are(t, "applied", "applied", "applied")
		})
	}
}

func TestApply_OptionsOfTheHandlerRuleTheRetries(t *testing.T) {
	cluster := newCluster(t)
	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{{
		Match: kopftest.Requests(http.MethodPatch, "configmaps"), Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusForbidden}, Times: 2,
	}}})
	op := cluster.Run(appliedBy(func(ctx context.Context, c *change) error {
		err := applyMap(ctx, c)
		if err != nil && !apierrors.IsForbidden(err) {
			t.Errorf("the error is %v", err)
		}
		return err
	}, appliesMaps(), kopf.RetryDelay(10*time.Millisecond)), proxy.Connect, settings(func(s *kopf.Settings) {
		s.Networking.ErrorBackoffs = slices.Values([]time.Duration{}) // the client repeats nothing
	}))
	op.WaitHandled(cluster.Create(example("x")))
	if n := op.CountLog("try again in 0.01 seconds: apply ConfigMap x: "); n < 2 {
		t.Errorf("the log has %d retries", n)
	}
}

func TestApply_RepeatedChangesNothing(t *testing.T) {
	cluster := newCluster(t)
	versions := map[any]bool{}
	op := cluster.Run(appliedBy(func(ctx context.Context, c *change) error {
		if err := applyMap(ctx, c); err != nil {
			return err
		}
		versions[cluster.Object("configmaps", "x").Get().Get("metadata.resourceVersion")] = true
		if c.Retry < 10 {
			return kopf.Temporaryf(0, "again")
		}
		return nil
	}, appliesMaps()))
	op.WaitHandled(cluster.Create(example("x")))
	if len(versions) != 1 {
		t.Errorf("repeated calls have made the versions %v", versions)
	}
}

func TestApply_ClusterScopedParent(t *testing.T) {
	cluster := newCluster(t)
	own := kex
	own.group, own.everywhere = cluster.Namespace+".kopf.dev", true
	own.define(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, own.selector(), func(ctx context.Context, c *change) error {
			role := &unstructured.Unstructured{Object: tree{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": tree{"name": cluster.Namespace}}}
			child := valueMap("", "in")
			if c.Retry > 0 {
				child.Namespace = cluster.Namespace
			}
			err := kopf.Apply(ctx, role, child)
			if c.Retry == 0 {
				return kopf.Temporaryf(0, "the first attempt: %w", err)
			}
			return err
		}, kopf.ID("create"), appliesMaps(), kopf.Uses(kopf.Resource("rbac.authorization.k8s.io/v1", "clusterroles"), "get", "create", "patch"))
	}, serving())
	x := cluster.Create(own.of(tree{"metadata": tree{"name": "x"}}))
	op.WaitHandled(x)
	op.WaitLog("apply ConfigMap x: set metadata.namespace: its parent is cluster-scoped")
	child, role := cluster.Object("configmaps", "x"), cluster.Object("clusterroles", cluster.Namespace)
	for _, o := range []*kopftest.Object{child, role} {
		if uid := o.Get().Get("metadata.ownerReferences[0].uid"); uid != x.Get().Get("metadata.uid") {
			t.Errorf("the owner of %s is %v", o, uid)
		}
	}
	x.Delete()
	x.WaitGone()
	child.WaitGone()
	role.WaitGone()
}

func TestApply_NamesTheMissingDeclaration(t *testing.T) {
	cluster := newCluster(t)
	part := custom{group: cluster.Namespace + ".kopf.dev", plural: "parts", kind: "Part"}
	op := cluster.Run(func(r *kopf.Registry) {
		// Each of these declarations lacks something: a verb, the objects, the resource of the handler.
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			if kopf.GetOr(c.Body, "spec.field", "") == "unserved" {
				return kopf.Apply(ctx, &unstructured.Unstructured{Object: part.of(tree{})})
			}
			return kopf.Apply(ctx, &corev1.ConfigMap{}, &appsv1.Deployment{}, &unstructured.Unstructured{Object: tree{"apiVersion": "batch/v1", "kind": "Job"}}, &unstructured.Unstructured{Object: tree{"apiVersion": "example.com/v1", "kind": "Nothing"}})
		}, kopf.ID("create"), kopf.Uses(kopf.Resource("v1", "configmaps"), "get", "create"), kopf.Uses(kopf.Resource("apps/v1", "deployments/status"), "get", "create", "patch"),
			kopf.Uses(part.selector(), "get", "create", "patch"))
		kopf.OnCreate(r, plains, func(context.Context, *change) error { return nil }, kopf.ID("other"), kopf.Uses(kopf.Resource("batch/v1", "jobs"), "get", "create", "patch"))
	})
	op.WaitFailed(cluster.Create(example("x")))
	for _, problem := range []string{
		`apply ConfigMap: the kind is not declared; add kopf.Uses(kopf.Resource("v1", "configmaps"), "get", "create", "patch")`,
		`apply Deployment: the kind is not declared; add kopf.Uses(kopf.Resource("apps/v1", "deployments"), "get", "create", "patch")`,
		`apply Job of batch/v1: the kind is not declared; add kopf.Uses(kopf.Resource("batch/v1", "jobs"), "get", "create", "patch")`,
		`apply Nothing of example.com/v1: the kind is not declared; add kopf.Uses(…, "get", "create", "patch")`,
	} {
		if op.CountLog(problem) == 0 {
			t.Errorf("the log does not say %s", problem)
		}
	}

	y := cluster.Create(kex.of(tree{"metadata": tree{"name": "y"}, "spec": tree{"field": "unserved"}}))
	op.WaitRetrying(y)
	op.WaitLog("the cluster does not serve " + part.group + "/v1 parts")
}

func TestApply_AmbiguousStructNeedsItsVersion(t *testing.T) {
	cluster := newCluster(t)
	other := custom{group: cluster.Namespace + ".kopf.dev", plural: "configmaps", kind: "ConfigMap"}
	other.define(cluster)
	op := cluster.Run(appliedBy(func(ctx context.Context, c *change) error {
		child := valueMap("", "v")
		if c.Name == "stated" {
			child.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
		}
		return kopf.Apply(ctx, child)
	}, appliesMaps(), kopf.Uses(other.selector(), "get", "create", "patch")))
	op.WaitHandled(cluster.Create(example("stated")))
	cluster.Object("configmaps.v1.", "stated").WaitValue("data.value", "v")
	op.WaitFailed(cluster.Create(example("x")))
	op.WaitLog("apply ConfigMap: it can be one of configmaps.v1 or of configmaps.v1." + other.group + "; set its apiVersion and kind")
}

// Each handler of the operator applies a ConfigMap with its own name.
func TestApply_WorksInAllHandlersOfObjects(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			c.Sub("sub", func(ctx context.Context, _ *change) error { return kopf.Apply(ctx, valueMap("sub", "")) })
			return kopf.Apply(ctx, valueMap("create", ""))
		}, kopf.ID("create"), appliesMaps())
		kopf.OnField(r, kexes, "spec.field", func(ctx context.Context, _ *kopf.FieldChange[string]) error {
			return kopf.Apply(ctx, valueMap("field", ""))
		}, kopf.ID("field"))
		kopf.OnDelete(r, kexes, func(ctx context.Context, c *change) error {
			if err := kopf.Apply(ctx, valueMap("delete", "")); err != nil {
				return err
			}
			cluster.Object("configmaps", "delete").Get()
			c.Logger.Info("the child of the deletion exists")
			return nil
		}, kopf.ID("delete"))
		kopf.OnEvent(r, kexes, func(ctx context.Context, e *event) error {
			if e.Type == "DELETED" {
				return nil
			}
			return kopf.Apply(ctx, valueMap("event", ""))
		}, kopf.ID("event"))
		kopf.Daemon(r, kexes, func(ctx context.Context, d *run) error { return kopf.Apply(ctx, valueMap("daemon", d.Name)) }, kopf.ID("daemon"))
		kopf.Timer(r, kexes, func(ctx context.Context, _ *tick) error { return kopf.Apply(ctx, valueMap("timer", "")) }, kopf.ID("timer"), kopf.Interval(time.Hour))
		kopf.OnReconcile(r, kexes, func(ctx context.Context, _ *kopf.Pass[kopf.Object]) error {
			return kopf.Apply(ctx, valueMap("pass", ""))
		})
	})
	x := cluster.Create(example("x"))
	uid := x.Get().Get("metadata.uid")
	for _, name := range []string{"create", "sub", "field", "event", "daemon", "timer", "pass"} {
		o := cluster.Object("configmaps", name).WaitFor("it exists", func(o *kopf.Object) bool { return o != nil })
		if o.Get("metadata.ownerReferences[0].uid") != uid || o.Get("metadata.ownerReferences[0].name") != "x" || o.Get("metadata.ownerReferences[0].kind") != kex.kind {
			t.Errorf("%s has the owners %s", name, asJSON(o.Get("metadata.ownerReferences")))
		}
	}
	op.WaitHandled(x)
	x.Delete()
	op.WaitLog("the child of the deletion exists")
	x.WaitGone()
}

func TestApply_PausedOperatorWritesNothing(t *testing.T) {
	begun, proceed := make(chan string, 3), make(chan struct{})
	refused := make(chan error, 3)
	apply := func(ctx context.Context, name string) error {
		select {
		case begun <- name:
		default:
		}
		<-proceed
		err := kopf.Apply(context.WithoutCancel(ctx), valueMap(name, ""))
		if err != nil {
			refused <- err
		}
		return err
	}
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, c *change) error {
			if c.Retry > 0 {
				t.Errorf("the refused attempt has counted")
			}
			return apply(ctx, "create")
		}, kopf.ID("create"), appliesMaps())
		kopf.OnEvent(r, plains, func(ctx context.Context, _ *event) error { return apply(ctx, "event") }, kopf.ID("event"), appliesMaps())
		kopf.Daemon(r, kexes, func(ctx context.Context, d *run) error {
			if err := apply(ctx, "daemon"); err != nil {
				return err
			}
			<-d.Stopping()
			return nil
		}, kopf.ID("daemon"))
	})
	cluster.Create(example("x"))
	cluster.Create(plain.of(example("x")))
	for range 3 {
		receive(cluster, "the handlers run", begun)
	}
	op.Pause()
	close(proceed)
	for range 3 {
		receive(cluster, "the children are refused", refused)
	}
	names := []string{"create", "event", "daemon"}
	for _, name := range names {
		if cluster.Object("configmaps", name).Exists() {
			t.Errorf("the paused operator has created %s", name)
		}
	}
	op.Resume()
	for _, name := range names {
		cluster.Object("configmaps", name).WaitFor("it exists", func(o *kopf.Object) bool { return o != nil })
	}
	for _, e := range op.LogEntries() {
		if e.Level >= 8 {
			t.Errorf("logged: %s", e)
		}
	}
}

// The permissions of the service account are those that the declaration gives.
func TestApply_NeedsOnlyItsDeclaredPermissions(t *testing.T) {
	cluster := newCluster(t)
	config := restricted(cluster)
	grant(cluster, "maps", false, rule("", "configmaps", "get", "create", "patch"))
	op := cluster.Run(appliedBy(applyMap, appliesMaps(), kopf.RetryDelay(time.Second)), connect(config))
	x := cluster.Create(example("x"))
	op.WaitHandled(x)
	x.Patch(field("changed"))
	op.WaitHandled(x)
	cluster.Object("configmaps", "x").WaitValue("data.value", "changed")
}
