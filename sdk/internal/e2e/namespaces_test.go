package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func (c *calls) namespaced(r *kopf.Registry) {
	kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
		c.add(r.Namespace + " " + r.Name)
		return nil
	}, kopf.ID("created"))
}

func TestNamespaces_ComeAndGo(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	early, late, excluded, named := cluster.Namespace+"-a-early", cluster.Namespace+"-a-late", cluster.Namespace+"-a-not", cluster.Namespace+"-named"
	cluster.CreateNamespace(early)
	x := cluster.Create(in(early, example("x")))
	op := cluster.Run(c.namespaced, serving(cluster.Namespace+"-a-*,!*-not", named))
	c.wait(cluster, early+" x", 1)
	cluster.CreateNamespace(excluded)
	cluster.Create(in(excluded, example("x")))
	cluster.CreateNamespace(late)
	cluster.Create(in(late, example("x")))
	cluster.CreateNamespace(named)
	cluster.Create(in(named, example("x")))
	c.wait(cluster, late+" x", 1)
	c.wait(cluster, named+" x", 1)
	x.Delete()
	x.WaitGone()
	endNamespace(cluster, early)
	op.WaitLog("Stopping the watch-stream for kopfexamples.v1.kopf.dev in " + early)
	cluster.CreateNamespace(early)
	cluster.Create(in(early, example("again")))
	c.wait(cluster, early+" again", 1)
	if n := c.count(excluded + " x"); n != 0 {
		t.Error("an excluded namespace is served")
	}
}

func TestNamespaces_OnlyLookedForOnceIfScanningIsDisabled(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	early, late, named := cluster.Namespace+"-a-early", cluster.Namespace+"-a-late", cluster.Namespace+"-named"
	cluster.CreateNamespace(early)
	var scans calls
	spy := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if path := req.URL.Path; path == "/api/v1/namespaces" || strings.HasSuffix(path, "/customresourcedefinitions") {
				scans.add(path + " " + req.URL.Query().Get("watch"))
			}
			return next.RoundTrip(req)
		})
	}
	op := cluster.Run(c.namespaced, serving(cluster.Namespace+"-a-*", named), transport(spy), noScan)
	cluster.CreateNamespace(late)
	cluster.Create(in(late, example("x")))
	cluster.CreateNamespace(named)
	cluster.Create(in(named, example("x")))
	cluster.Create(in(early, example("x")))
	c.wait(cluster, early+" x", 1)
	c.wait(cluster, named+" x", 1)
	op.Stop()
	if c.count(late+" x") > 0 {
		t.Error("a namespace is served that did not exist at the start")
	}
	scans.are(t, "/api/v1/namespaces ")

	scans = calls{}
	op = cluster.Run(c.namespaced, serving(named), transport(spy), noScan)
	cluster.Create(in(named, example("y")))
	c.wait(cluster, named+" y", 1)
	op.Stop()
	scans.are(t)
}

// endNamespace deletes an empty namespace at once. The controller that otherwise does so takes
// seconds, and much longer where many namespaces end. It returns when the API server has forgotten the namespace: before, it would
// refuse objects in a new namespace of the same name.
func endNamespace(cluster *kopftest.Cluster, name string) {
	cluster.T().Helper()
	namespace := cluster.Object("namespaces", name)
	namespace.Delete()
	client := testcluster.Client(cluster.T(), kube.ClientOptions{})
	_, err := client.Do(cluster.T().Context(), kube.Request{
		Method: http.MethodPut, Path: "/api/v1/namespaces/" + name + "/finalize", ContentType: "application/json",
		Body: []byte(asJSON(tree{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": name}, "spec": tree{"finalizers": []any{}}})),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		cluster.T().Fatal(err)
	}
	namespace.WaitGone()
	cluster.WaitUntil("the API server has forgotten the namespace "+name, func() bool {
		_, err := client.WithoutRetries().Do(cluster.T().Context(), kube.Request{
			Method: http.MethodPost, Path: "/api/v1/namespaces/" + name + "/configmaps?dryRun=All", ContentType: "application/json",
			Body: []byte(asJSON(tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": "x"}})),
		})
		return apierrors.IsNotFound(err)
	})
}

func TestDefinitions_ComeAndGo(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	late := kex
	late.group = cluster.Namespace + ".kopf.dev"
	op := cluster.Run(func(r *kopf.Registry) {
		selector := late.selector()
		kopf.OnCreate(r, selector, func(_ context.Context, r *change) error {
			c.add(r.Name)
			return nil
		}, kopf.ID("created"))
	})
	op.WaitLog("ready")
	for _, name := range []string{"first", "second"} {
		late.define(cluster)
		began := time.Now()
		object := cluster.Create(late.of(example(name)))
		c.wait(cluster, name, 1)
		t.Logf("it took %s from the definition to the handler", time.Since(began))
		waitHandled(object)
		late.undefine(cluster)
		op.WaitLogs("Stopping the watch-stream for "+late.key(), c.count("first")+c.count("second"))
	}
	if n := op.CountLog("is interrupted"); n > 10 {
		t.Errorf("the operator asked %d times for what is not served", n)
	}
}

func TestDefinitions_FoundSoonAfterStartIfScanningIsDisabled(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	late := kex
	late.group = cluster.Namespace + ".kopf.dev"
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, late.selector(), func(_ context.Context, r *change) error {
			c.add(r.Name)
			return nil
		}, kopf.ID("created"))
	}, noScan)
	op.WaitLog("ready")
	late.define(cluster) // as if the operator was applied together with it
	cluster.Create(late.of(example("first")))
	c.wait(cluster, "first", 1)
}
