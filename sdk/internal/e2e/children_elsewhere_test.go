package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// spread is an operator whose parents have children in their namespace, in another one, and without a namespace.
type spread struct {
	*keeper
	other                   *kopftest.Cluster
	near, far, secret, role *kopftest.Object
}

// elsewhere declares the kinds of a spread.
func elsewhere() []kopf.Own {
	all := owning("v1 configmaps", "rbac.authorization.k8s.io/v1 clusterroles", "v1 secrets")
	for i := range all {
		all[i].Elsewhere = true
	}
	return all
}

func keepSpread(t *testing.T, spec tree, configure ...func(*kopf.Operator)) *spread {
	t.Helper()
	s := &spread{}
	namespace := ""
	cluster := newCluster(t)
	s.other = cluster.CreateNamespace(cluster.Namespace + "-far")
	namespace = s.other.Namespace
	s.keeper = keepIn(cluster, spec, elsewhere(), func(p *kopf.Pass[kopf.Object]) []tree {
		if kopf.GetOr(p.Object, "spec.only", "") == "near" {
			return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "1"}}}
		}
		return []tree{
			{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "1"}},
			{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"namespace": namespace}, "data": tree{"a": "1"}},
			{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": tree{"name": namespace}, "rules": []any{}},
			{"apiVersion": "v1", "kind": "Secret", "metadata": tree{"namespace": namespace}, "data": tree{"a": "MQ=="}},
		}
	}, configure...)
	s.near, s.far = cluster.Object("configmaps", "main"), s.other.Object("configmaps", "main")
	s.secret, s.role = s.other.Object("secrets", "main"), cluster.Object("clusterroles", namespace)
	return s
}

// hold makes the end of a deletion wait until release.
func hold(o *kopftest.Object) {
	o.Set("metadata.finalizers", []any{"example.com/hold"})
}

// release removes the finalizer of hold.
func release(o *kopftest.Object) {
	o.Remove("metadata.finalizers")
}

func deleting(o *kopf.Object) bool { return o.Get("metadata.deletionTimestamp") != nil }

func TestChildren_ElsewhereAreKeptAndPruned(t *testing.T) {
	s := keepSpread(t, tree{})
	for child, owners := range map[*kopftest.Object]int{s.near: 1, s.far: 0, s.secret: 0, s.role: 0} {
		o := child.Get()
		refs, _ := o.Get("metadata.ownerReferences").([]any)
		labels := kopf.GetOr(o, "metadata.labels", tree{})
		if len(refs) != owners || (labels["kopf.dev/owner-namespace"] == s.Namespace) != (owners == 0) {
			t.Errorf("%s has the owners %v and the labels %v", child, refs, labels)
		}
	}
	parent := s.parent.Get()
	if got, want := kopf.GetOr(parent, "metadata.annotations", tree{})["kopf.zalando.org/child-kinds"], "clusterroles.rbac.authorization.k8s.io,configmaps,secrets"; got != want {
		t.Errorf("the recorded kinds are %v, want %s", got, want)
	}
	s.far.Set("data.a", "2")
	s.far.WaitValue("data.a", "1")
	s.role.Delete()
	s.role.WaitFor("it exists again", func(o *kopf.Object) bool { return !deleting(o) })
	s.checkIdle()

	s.Stop()
	before := len(s.written())
	s.Start()
	s.settle(s.parent)
	if sent := s.written()[before:]; len(sent) > 0 {
		t.Errorf("after a restart, the operator sent %q", sent)
	}

	s.parent.Set("spec.only", "near")
	s.secret.WaitGone()
	s.role.WaitGone()
	s.far.WaitGone()
	s.settle(s.parent)
	if got := kopf.GetOr(s.parent.Get(), "metadata.annotations", tree{})["kopf.zalando.org/child-kinds"]; got != "configmaps" {
		t.Errorf("the recorded kinds are %v after the pruning", got)
	}
	s.checkIdle()
}

func TestChildren_ElsewhereAreDeletedInOrderBeforeTheirParent(t *testing.T) {
	for _, down := range []bool{false, true} {
		t.Run(map[bool]string{true: "without the operator", false: "at once"}[down], func(t *testing.T) {
			s := keepSpread(t, tree{})
			hold(s.secret)
			hold(s.role)
			s.settle(s.parent)
			if down {
				s.Stop()
			}
			s.parent.Delete()
			if down {
				s.Start()
			}
			s.secret.WaitFor("it is being deleted", deleting)
			s.WaitInspect("it names the awaited child", func(snapshot *inspect.Snapshot) bool {
				return slices.ContainsFunc(snapshot.Objects, func(o *inspect.Object) bool {
					return o.Name == "main" && slices.Equal(o.Awaits, []string{"Secret " + s.other.Namespace + "/main"})
				})
			})
			s.settleOther(t)
			if deleting(s.role.Get()) || deleting(s.far.Get()) {
				t.Error("a child was deleted before the child of the last declared kind was gone")
			}
			release(s.secret)
			s.role.WaitFor("it is being deleted", deleting)
			s.settleOther(t)
			if deleting(s.far.Get()) || !s.parent.Exists() {
				t.Error("the parent or a child of the first kind was deleted before the cluster role was gone")
			}
			release(s.role)
			s.far.WaitGone()
			s.parent.WaitGone()
			if n := s.CountLog("Deleted "); n != 3 {
				t.Errorf("the operator has deleted %d children, want 3", n)
			}
		})
	}
}

func TestChildren_DeletedFirstAreDeletedInOrderBeforeTheirParent(t *testing.T) {
	own := owning("v1 configmaps", "v1 secrets", "v1 serviceaccounts")
	own[0].DeleteFirst, own[2].DeleteFirst = true, true
	k := keep(t, tree{}, own, func(*kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": "v1", "kind": "ConfigMap"}, {"apiVersion": "v1", "kind": "Secret"}, {"apiVersion": "v1", "kind": "ServiceAccount"}}
	})
	config, secret, account := k.Object("configmaps", "main"), k.Object("secrets", "main"), k.Object("serviceaccounts", "main")
	hold(config)
	hold(account)
	k.settle(k.parent)
	k.parent.Delete()
	account.WaitFor("it is being deleted", deleting)
	if deleting(config.Get()) {
		t.Error("the config map was deleted before the service account was gone")
	}
	release(account)
	config.WaitFor("it is being deleted", deleting)
	if !k.parent.Exists() || deleting(secret.Get()) {
		t.Error("the parent was deleted before its config map, or the operator has deleted the secret")
	}
	release(config)
	k.parent.WaitGone()
	secret.WaitGone() // by the cluster
}

// settleOther waits until the operator has had the time to handle another parent from its creation to its end.
func (s *spread) settleOther(t *testing.T) {
	t.Helper()
	other := s.Create(s.own.of(tree{"metadata": tree{"name": "other"}, "spec": tree{"only": "near"}}))
	s.WaitHandled(other)
	other.Delete()
	other.WaitGone()
}

func TestChildren_ElsewhereAreDeletedAlthoughTheFiltersExcludeTheirParent(t *testing.T) {
	cluster := newCluster(t)
	far := cluster.CreateNamespace(cluster.Namespace + "-far")
	own := ownResource(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			return p.Apply(ctx, &unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"namespace": far.Namespace}}})
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps"), Elsewhere: true}, kopf.Labels{"managed": "yes"})
	})
	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "a", "labels": tree{"managed": "yes"}}}))
	stranger := cluster.Create(own.of(tree{"metadata": tree{"name": "b"}}))
	child := far.Object("configmaps", "a")
	child.WaitValue("metadata.name", "a")
	parent.Remove("metadata.labels")
	op.WaitHandled(parent)
	if got, _ := parent.Get().Get("metadata.finalizers").([]any); len(got) != 1 {
		t.Errorf("the finalizers are %v although a child is left", got)
	}
	if got := stranger.Get().Get("metadata.finalizers"); got != nil {
		t.Errorf("an object that never matched has the finalizers %v", got)
	}
	parent.Delete()
	child.WaitGone()
	parent.WaitGone()
}

func TestChildren_ElsewhereWaitForDeletionHandlersAndRetries(t *testing.T) {
	cluster := newCluster(t)
	far := cluster.CreateNamespace(cluster.Namespace + "-far")
	own := ownResource(cluster)
	var done, broken atomic.Bool
	broken.Store(true)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnDelete(r, own.selector(), func(context.Context, *change) error {
			if !done.Load() {
				return kopf.Temporaryf(0, "not yet")
			}
			return nil
		}, kopf.ID("release"))
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			var all []metav1.Object
			for _, name := range []string{"a", "b"} {
				all = append(all, &unstructured.Unstructured{Object: tree{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": name, "namespace": far.Namespace},
				}})
			}
			return p.Apply(ctx, all...)
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps"), Elsewhere: true})
	}, transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if broken.Load() && req.Method == http.MethodDelete && strings.HasSuffix(req.URL.Path, "/configmaps/a") {
				return failing(http.StatusBadRequest)(req, next)
			}
			return next.RoundTrip(req)
		})
	}))
	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "x"}}))
	a, b := far.Object("configmaps", "a"), far.Object("configmaps", "b")
	b.WaitValue("metadata.name", "b")
	op.WaitHandled(parent)
	parent.Delete()
	op.WaitLog("failed temporarily: not yet")
	if !a.Exists() || !b.Exists() {
		t.Error("a child was deleted before the deletion handler has succeeded")
	}
	done.Store(true)
	op.WaitLog("Cannot delete a child")
	b.WaitGone()
	if !parent.Exists() || !a.Exists() {
		t.Error("the parent has gone before its child")
	}
	broken.Store(false)
	a.WaitGone()
	parent.WaitGone()
}

func TestChildren_DeletionHandlersAreNotRepeatedWhileChildrenAreDeleted(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	var calls atomic.Int32
	register := func(r *kopf.Registry) {
		kopf.OnDelete(r, own.selector(), func(context.Context, *change) error {
			calls.Add(1)
			return nil
		}, kopf.ID("release"))
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			return p.Apply(ctx, &unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": "ConfigMap"}})
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps"), DeleteFirst: true})
	}
	op := cluster.Run(register)
	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "x"}}))
	child := cluster.Object("configmaps", "x")
	child.WaitValue("metadata.name", "x")
	op.WaitHandled(parent)
	hold(child)
	parent.Delete()
	child.WaitFor("it is being deleted", deleting)
	parent.WaitFor("the deletion handler is recorded", func(o *kopf.Object) bool {
		return kopf.GetOr(o, "metadata.annotations", tree{})["kopf.zalando.org/release"] != nil
	})
	op.Restart()
	op.WaitInspect("it awaits the child", func(s *inspect.Snapshot) bool {
		return slices.ContainsFunc(s.Objects, func(o *inspect.Object) bool { return slices.Equal(o.Awaits, []string{"ConfigMap x"}) })
	})
	release(child)
	parent.WaitGone()
	if n := calls.Load(); n != 1 {
		t.Errorf("the deletion handler was called %d times", n)
	}
}

func TestChildren_KindsOfEarlierReleasesAreNamed(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	release := func(kinds ...string) *kopftest.Operator {
		return cluster.Run(func(r *kopf.Registry) {
			var options []kopf.ReconcileOption
			for _, o := range owning(kinds...) {
				options = append(options, o)
			}
			kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
				var all []metav1.Object
				for _, kind := range kinds {
					name := map[string]string{"v1 configmaps": "ConfigMap", "v1 secrets": "Secret"}[kind]
					all = append(all, &unstructured.Unstructured{Object: tree{"apiVersion": "v1", "kind": name}})
				}
				return p.Apply(ctx, all...)
			}, options...)
		})
	}
	first := release("v1 configmaps", "v1 secrets")
	var parents []*kopftest.Object
	for i := range 3 {
		parents = append(parents, cluster.Create(own.of(tree{"metadata": tree{"name": fmt.Sprint("x", i)}})))
	}
	kinds := func(o *kopf.Object) string {
		text, _ := kopf.GetOr(o, "metadata.annotations", tree{})["kopf.zalando.org/child-kinds"].(string)
		return text
	}
	for _, parent := range parents {
		parent.WaitFor("its kinds are recorded", func(o *kopf.Object) bool { return kinds(o) == "configmaps,secrets" })
	}
	first.Stop()
	second := release("v1 configmaps")
	second.WaitLog("Children of kind secrets from an earlier release may still exist")
	for _, parent := range parents {
		parent.Set("spec.field", "changed")
		second.WaitHandled(parent)
		if got := kinds(parent.Get()); got != "configmaps,secrets" {
			t.Errorf("%s: the recorded kinds are %q", parent, got)
		}
	}
	if n := second.CountLog("from an earlier release may still exist"); n != 1 {
		t.Errorf("the log names the kind %d times", n)
	}
	second.Stop()
	for i, parent := range parents {
		if !cluster.Object("secrets", fmt.Sprint("x", i)).Exists() {
			t.Errorf("the secret of %s was deleted", parent)
		}
	}
}

func TestChildren_ElsewhereWithShardsByNamespaceHaveOneWriter(t *testing.T) {
	cluster := newCluster(t)
	far := cluster.CreateNamespace(cluster.Namespace + "-far")
	own := ownResource(cluster)
	register := func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			return p.Apply(ctx, &unstructured.Unstructured{Object: tree{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"namespace": far.Namespace}, "data": tree{"a": "1"},
			}})
		}, kopf.Own{Resource: kopf.Resource("v1", "configmaps"), Elsewhere: true})
	}
	both := []*kopftest.Operator{
		cluster.Run(register, sharded(cluster, "one", true), longLeases), cluster.Run(register, sharded(cluster, "two", true), longLeases),
	}
	for _, op := range both {
		owns(op, manyShards/2)
	}
	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "x"}}))
	child := far.Object("configmaps", "x")
	child.WaitValue("data.a", "1")
	child.Set("data.a", "2")
	child.WaitValue("data.a", "1")
	cluster.WaitUntil("one replica has repaired the child", func() bool {
		repaired := 0
		for _, op := range both {
			repaired += op.CountLog("Took a field of ConfigMap " + far.Namespace + "/x back")
		}
		if repaired > 1 {
			t.Errorf("the replicas have repaired the child %d times", repaired)
		}
		return repaired >= 1
	})
	parent.Delete()
	child.WaitGone()
	parent.WaitGone()
}
