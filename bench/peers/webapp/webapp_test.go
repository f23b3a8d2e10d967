package webapp

import (
	"context"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kopf-dev/kopf/bench/peers/webapp/kopfapp"
	"github.com/kopf-dev/kopf/bench/peers/webapp/runtimeapp"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	kopftest.Main(m)
}

func TestWebApp_BothOperatorsEndInTheSameStates(t *testing.T) {
	states := map[string][]map[string]any{}
	for name, start := range map[string]func(*testing.T, *kopftest.Cluster){
		"kopf":               func(_ *testing.T, cluster *kopftest.Cluster) { cluster.Run(kopfapp.Register) },
		"controller-runtime": startRuntimeApp,
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kopftest.New(t)
			cluster.ApplyFile("crd.yaml")
			start(t, cluster)
			states[name] = scenario(cluster)
		})
	}
	if diff := cmp.Diff(states["controller-runtime"], states["kopf"]); diff != "" || len(states["kopf"]) == 0 {
		t.Errorf("%d states; the operators differ (-controller-runtime +kopf):\n%s", len(states["kopf"]), diff)
	}
}

func startRuntimeApp(t *testing.T, cluster *kopftest.Cluster) {
	t.Helper()
	types := runtime.NewScheme()
	runtimeapp.AddToScheme(types)
	if err := scheme.AddToScheme(types); err != nil {
		t.Fatal(err)
	}
	m, err := ctrl.NewManager(cluster.Config, ctrl.Options{
		Scheme: types, Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{cluster.Namespace: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&runtimeapp.Reconciler{Client: m.GetClient()}).SetupWithManager(m); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// scenario creates, changes and deletes an application, and returns the states of its objects after each step.
func scenario(cluster *kopftest.Cluster) (states []map[string]any) {
	app := cluster.Apply(`
apiVersion: peers.kopf.dev/v1
kind: WebApp
metadata: {name: shop}
spec: {image: nginx, replicas: 2, host: shop.example.com, config: {GREETING: hello}}
`)
	const image = "spec.template.spec.containers[0].image"
	config, deployment := cluster.Object("configmaps", "shop"), cluster.Object("deployments", "shop")
	service, ingress := cluster.Object("services", "shop"), cluster.Object("ingresses", "shop")
	record := func() {
		state := map[string]any{"app": app.Get().Get("status")}
		for _, child := range []*kopftest.Object{config, deployment, service, ingress} {
			if child.Exists() {
				state[child.Kind] = wanted(child.Get())
			}
		}
		states = append(states, state)
	}
	ready := func() {
		app.WaitFor("it is ready", func(o *kopf.Object) bool { return o.Get("status.ready") == true })
	}

	ingress.WaitValue("spec.rules[0].host", "shop.example.com") // creation
	service.WaitValue("spec.ports[0].port", int64(80))
	config.WaitValue("data.GREETING", "hello")
	ready()
	ingress.TryPatch("status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}", kopftest.InSubresource("status"))
	app.WaitValue("status.address", "192.0.2.1")
	record()

	app.Set("spec.image", "httpd") // a change
	deployment.WaitValue(image, "httpd")
	deployment.WaitFor("the rollout ends", func(o *kopf.Object) bool {
		return o.Get("status.updatedReplicas") == int64(2) && o.Get("status.replicas") == int64(2)
	})
	ready()
	record()

	app.Remove("spec.host") // a child that is no longer wanted
	ingress.WaitGone()
	app.WaitValue("status.address", "")
	ready()
	record()

	deployment.Patch(`spec: {template: {spec: {containers: [{name: web, image: evil}]}}}`) // changes by others
	deployment.WaitValue(image, "httpd")
	config.Set("data.GREETING", "bye")
	config.WaitValue("data.GREETING", "hello")
	service.Delete()
	service.WaitValue("spec.ports[0].port", int64(80))
	deployment.WaitFor("the rollout ends", func(o *kopf.Object) bool {
		return o.Get("status.updatedReplicas") == int64(2) && o.Get("status.replicas") == int64(2)
	})
	ready()
	record()

	app.Delete()
	for _, child := range []*kopftest.Object{config, deployment, service} {
		child.WaitGone()
	}
	return states
}

// wanted returns the fields of a child that are the same in each cluster.
func wanted(child *kopf.Object) map[string]any {
	fields := map[string]any{"data": child.Get("data"), "rules": child.Get("spec.rules")}
	for _, path := range []kopf.Path{"spec.replicas", "spec.selector", "spec.template", "spec.ports"} {
		fields[string(path)] = child.Get(path)
	}
	fields["controller"] = child.Get("metadata.ownerReferences[0].controller")
	fields["owner"] = child.Get("metadata.ownerReferences[0].name")
	return fields
}
