package e2e

import (
	"context"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// webApp has the fields of an object that the web operator reads.
type webApp struct {
	Spec struct {
		Image string `json:"image"`
		Host  string `json:"host"`
	} `json:"spec"`
}

// webOperator keeps a ConfigMap, a Deployment, a Service and, with a host, an Ingress.
type webOperator struct {
	own    custom
	passes atomic.Int32
	wakes  atomic.Pointer[[]kopf.Wake]
}

func (o *webOperator) register(r *kopf.Registry) {
	kopf.OnReconcile(r, o.own.selector(), o.reconcile,
		kopf.Own{Resource: kopf.Resource("v1", "configmaps")},
		kopf.Own{Resource: kopf.Resource("apps/v1", "deployments")},
		kopf.Own{Resource: kopf.Resource("v1", "services")},
		kopf.Own{Resource: kopf.Resource("networking.k8s.io/v1", "ingresses")})
}

func (o *webOperator) reconcile(ctx context.Context, p *kopf.Pass[webApp]) error {
	o.passes.Add(1)
	o.wakes.Store(&p.Wakes)
	labels := map[string]string{"app": p.Name}
	objs := []metav1.Object{
		&corev1.ConfigMap{Data: map[string]string{"image": p.Object.Spec.Image}},
		&appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: p.Object.Spec.Image}}},
			},
		}},
		&corev1.Service{Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}},
	}
	if p.Object.Spec.Host != "" {
		objs = append(objs, &unstructured.Unstructured{Object: tree{
			"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
			"spec": tree{"rules": []any{tree{"host": p.Object.Spec.Host}}},
		}})
	}
	return p.Apply(ctx, objs...)
}

func runWeb(t *testing.T) (*kopftest.Cluster, *webOperator, *kopftest.Operator) {
	t.Helper()
	cluster := newCluster(t)
	web := &webOperator{own: ownResource(cluster)}
	return cluster, web, cluster.Run(web.register)
}

func TestChildren_AreAppliedRepairedAndPruned(t *testing.T) {
	cluster, web, op := runWeb(t)
	app := cluster.Create(web.own.of(tree{"metadata": tree{"name": "shop"}, "spec": tree{"image": "nginx", "host": "shop.example.com"}}))
	op.WaitLog("Handler 'reconcile' succeeded")
	config, deployment, ingress := cluster.Object("configmaps", "shop"), cluster.Object("deployments", "shop"), cluster.Object("ingresses", "shop")
	config.WaitValue("data.image", "nginx")
	deployment.WaitValue("spec.template.spec.containers[0].image", "nginx")
	cluster.Object("services", "shop").WaitValue("spec.ports[0].port", int64(80))
	ingress.WaitValue("spec.rules[0].host", "shop.example.com")

	deployment.Patch(tree{"spec": tree{"template": tree{"spec": tree{"containers": []any{tree{"name": "web", "image": "evil"}}}}}})
	deployment.WaitValue("spec.template.spec.containers[0].image", "nginx")
	op.WaitLog("Took a field of Deployment shop back: spec.template.spec.containers")

	before := config.Get().Get("metadata.uid")
	config.Delete()
	config.WaitFor("it is another one", func(o *kopf.Object) bool { return o.Get("metadata.uid") != before })

	app.Remove("spec.host")
	ingress.WaitGone()
	op.WaitLog("Pruned Ingress shop")

	app.Set("spec.image", "httpd")
	config.WaitValue("data.image", "httpd")
	deployment.WaitValue("spec.template.spec.containers[0].image", "httpd")
	app.Delete()
	app.WaitGone()
	deployment.WaitGone()
}

func TestChildren_RestartWritesNothing(t *testing.T) {
	cluster, web, op := runWeb(t)
	cluster.Create(web.own.of(tree{"metadata": tree{"name": "shop"}, "spec": tree{"image": "nginx", "host": "shop.example.com"}}))
	op.WaitLog("Handler 'reconcile' succeeded")
	cluster.Object("deployments", "shop").WaitValue("status.availableReplicas", int64(1)) // its controller has nothing left to do
	op.Stop()
	kinds := []string{"configmaps", "deployments", "services", "ingresses"}
	versions := map[string]any{}
	for _, kind := range kinds {
		versions[kind] = cluster.Object(kind, "shop").Get().Get("metadata.resourceVersion")
	}
	passes := web.passes.Load()
	mark := op.LogMark()
	op.Start()
	op.WaitLogSince(mark, "Handler 'reconcile' succeeded")
	if got := web.passes.Load(); got != passes+1 {
		t.Errorf("%d passes since the restart, want 1", got-passes)
	}
	if wakes := *web.wakes.Load(); len(wakes) != 1 || wakes[0].Kind != kopf.WakeStart {
		t.Errorf("the pass has the reasons %+v", wakes)
	}
	for _, kind := range kinds {
		if got := cluster.Object(kind, "shop").Get().Get("metadata.resourceVersion"); got != versions[kind] {
			t.Errorf("the restart has changed the %s", kind)
		}
	}
}
