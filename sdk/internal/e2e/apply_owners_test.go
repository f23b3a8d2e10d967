package e2e

import (
	"context"
	"net/http"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

func TestApply_NamesakesOfOthersStay(t *testing.T) {
	cluster := newCluster(t)
	gate := cluster.Create(configMap("gate", nil)).Get()
	held := cluster.Create(configMap("held", tree{"ownerReferences": []any{tree{
		"apiVersion": "v1", "kind": "ConfigMap", "name": "gate", "uid": gate.Get("metadata.uid"), "controller": true,
	}}})).Get()
	free := cluster.Create(configMap("free", nil)).Get()
	copied := cluster.Create(configMap("copied", nil))
	op := cluster.Run(appliedBy(func(ctx context.Context, c *change) error {
		return kopf.Apply(ctx, valueMap("held", ""), valueMap("free", ""), valueMap("copied", ""), valueMap("own", ""))
	}, appliesMaps()))
	x := cluster.Create(tree{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": tree{"name": "x"}, "spec": tree{"field": "0"}})
	copied.Label("kopf.dev/owner-uid", kopf.GetOr(x.Get(), "metadata.uid", ""))
	before := copied.Get()
	op.WaitFailed(x)
	for _, problem := range []string{
		"apply ConfigMap held: it belongs to ConfigMap gate", "apply ConfigMap free: it exists, and was not made for this object",
		"apply ConfigMap copied: it exists, and was not made for this object",
	} {
		if op.CountLog(problem) == 0 {
			t.Errorf("the log does not say %q", problem)
		}
	}
	same(t, cluster.Object("configmaps", "held"), held)
	same(t, cluster.Object("configmaps", "free"), free)
	same(t, copied, before)
	if !cluster.Object("configmaps", "own").Exists() {
		t.Error("the other child was not applied")
	}
}

func TestApply_SecondParentOfAChildFails(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(appliedBy(func(ctx context.Context, c *change) error {
		return kopf.Apply(ctx, valueMap("shared", c.Name))
	}, appliesMaps()))
	op.WaitHandled(cluster.Create(example("first")))
	shared := cluster.Object("configmaps", "shared")
	before := shared.Get()
	op.WaitFailed(cluster.Create(example("second")))
	same(t, shared, before)

	// Without its owner reference, the label still names its parent.
	shared.Remove("metadata.ownerReferences")
	before = shared.Get()
	op.WaitFailed(cluster.Create(example("third")))
	same(t, shared, before)
	first := cluster.Object(kex.name(), "first")
	first.Patch(field("again"))
	op.WaitHandled(first)
	if shared.Get().Get("metadata.ownerReferences") == nil {
		t.Error("the parent of the label does not get the child back")
	}
}

func TestApply_TakesOverAdoptedChildren(t *testing.T) {
	cluster := newCluster(t)
	x := cluster.Create(example("x"))
	child := configMap("x", nil)
	if err := owner.Adopt(child, x.Get(), owner.Options{ExactName: true}); err != nil {
		t.Fatal(err)
	}
	before := cluster.Create(child).Get()
	op := cluster.Run(appliedBy(applyMap, appliesMaps()))
	op.WaitHandled(x)
	after := cluster.Object("configmaps", "x").Get()
	if got := asJSON(after.Get("data")); got != `{"other":"theirs","value":"value"}` || after.Get("metadata.uid") != before.Get("metadata.uid") {
		t.Errorf("it is %s", asJSON(after))
	}
}

func TestApply_TakesFieldsBackButLeavesTheScale(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(appliedBy(func(ctx context.Context, c *change) error {
		return kopf.Apply(ctx, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: kopf.GetOr(c.Body, "spec.field", "")}}},
			},
		}})
	}, kopf.Uses(kopf.Resource("apps/v1", "deployments"), "get", "create", "patch")))
	x := cluster.Create(example("main"))
	op.WaitHandled(x)
	d := edit(&keeper{t: t, Cluster: cluster}, edited{version: "apps/v1", plural: "deployments"}, "Deployment")
	d.request(http.MethodPatch, "/scale", "application/merge-patch+json", tree{"spec": tree{"replicas": 2}})
	d.child.Patch(tree{"spec": tree{"template": tree{"metadata": tree{"labels": tree{"app": "x", "more": "theirs"}}, "spec": tree{"containers": []any{tree{"name": "web", "image": "evil"}}}}}})
	x.Patch(field("changed"))
	op.WaitHandled(x)
	o := d.child.Get()
	if image, replicas := o.Get("spec.template.spec.containers[0].image"), o.Get("spec.replicas"); image != "changed" || replicas != int64(2) {
		t.Errorf("the image is %v with %v replicas", image, replicas)
	}
	if op.CountLog("Took a field of Deployment main back: spec.template.spec.containers") != 1 {
		t.Error("the log does not say that the image was taken back")
	}
}

func TestApply_PassesDoNotPruneItsChildren(t *testing.T) {
	cluster, o := newMaps(t, kopf.Own{})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, o.own.selector(), func(ctx context.Context, c *change) error { return kopf.Apply(ctx, valueMap("once", "made")) },
			kopf.ID("create"), appliesMaps())
		o.register(r)
	})
	app := cluster.Create(o.parent("app", "kept", "dropped"))
	once, kept, dropped := cluster.Object("configmaps", "once"), cluster.Object("configmaps", "kept"), cluster.Object("configmaps", "dropped")
	once.WaitValue("data.value", "made")
	dropped.WaitValue("data.value", "new")
	once.Label("kopf.dev/owned-by", kopf.GetOr(kept.Get(), "metadata.labels[kopf.dev/owned-by]", ""))
	before := once.Get()
	app.Set("spec.names", []any{"kept"})
	dropped.WaitGone()
	op.WaitHandled(app)
	same(t, once, before)
}

func TestApply_LaterPassTakesChildrenOverAndPrunesThem(t *testing.T) {
	cluster, o := newMaps(t, kopf.Own{})
	later := false
	op := cluster.Run(func(r *kopf.Registry) {
		if later {
			o.register(r)
			return
		}
		kopf.OnCreate(r, o.own.selector(), func(ctx context.Context, c *change) error {
			child := valueMap("child", "old")
			child.Data["more"] = "old"
			return kopf.Apply(ctx, child)
		}, kopf.ID("create"), appliesMaps())
	})
	app := cluster.Create(o.parent("app", "child"))
	op.WaitHandled(app)
	child := cluster.Object("configmaps", "child")
	before := child.Get()
	later = true
	op.Restart()
	after := child.WaitValue("data.value", "new")
	if after.Get("metadata.uid") != before.Get("metadata.uid") || after.Get("data.more") != nil {
		t.Errorf("it is %s", asJSON(after))
	}
	app.Set("spec.names", []any{"other"})
	child.WaitGone()
}

func TestApply_LeavesTheOnceFieldsOfPasses(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	secret := func(password, team string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: tree{
			"apiVersion": "v1", "kind": "Secret", "metadata": tree{"labels": tree{"team": team}}, "stringData": tree{"password": password},
		}}
	}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnUpdate(r, own.selector(), func(ctx context.Context, c *change) error {
			return kopf.Apply(ctx, secret("other", kopf.GetOr(c.Body, "spec.team", "")))
		}, kopf.ID("update"), kopf.Uses(kopf.Resource("v1", "secrets"), "get", "create", "patch"))
		kopf.OnReconcile(r, own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			if kopf.GetOr(p.Object, "spec.team", "") != "a" {
				return nil
			}
			return p.Apply(ctx, secret("first", "a"))
		}, onceOf("data.password")[0])
	})
	parent := cluster.Create(own.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"team": "a"}}))
	child := cluster.Object("secrets", "x")
	password := child.WaitValue("metadata.labels.team", "a").Get("data.password")
	op.WaitHandled(parent)
	parent.Set("spec.team", "b")
	if now := child.WaitValue("metadata.labels.team", "b").Get("data.password"); now != password {
		t.Errorf("the password is %v, and was %v", now, password)
	}
	op.WaitHandled(parent)
}
