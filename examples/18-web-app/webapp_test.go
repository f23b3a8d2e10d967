package webapp

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestWebApp_ChildrenFollowTheObject(t *testing.T) {
	const checksum = "spec.template.metadata.annotations[example.com/config]"
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	operator := cluster.Run(Register)
	app := cluster.ApplyFile("obj.yaml")

	deployment, ingress := cluster.Object("deployments", "shop"), cluster.Object("ingresses", "shop")
	cluster.Object("configmaps", "shop").WaitValue("data.GREETING", "hello")
	cluster.Object("services", "shop").WaitValue("spec.selector.app", "shop")
	deployment.WaitValue("spec.replicas", int64(2))
	ingress.WaitValue("spec.rules[0].host", "shop.example.com")
	app.WaitValue("status.readyReplicas", int64(2))
	app.WaitFor("it is ready", func(o *kopf.Object) bool { return readiness(o) == "True: Complete" })

	deployment.Patch(map[string]any{"spec": map[string]any{"replicas": 5}})
	operator.WaitDrift(app, deployment, "spec.replicas")
	deployment.WaitValue("spec.replicas", int64(2))

	before := deployment.Get().Get(checksum)
	app.Set("spec.config", map[string]any{"GREETING": "good morning"})
	deployment.WaitFor("its pods are replaced", func(o *kopf.Object) bool { return o.Get(checksum) != before })

	app.Remove("spec.host")
	ingress.WaitGone()
	operator.WaitLog("Pruned Ingress shop")
	app.Set("spec.host", "www.example.com")
	ingress.WaitValue("spec.rules[0].host", "www.example.com")

	app.Delete()
	app.WaitGone()
	deployment.WaitGone()
	ingress.WaitGone()
}

// readiness returns the status of the condition Ready with the reason.
func readiness(app *kopf.Object) string {
	for _, c := range kopf.GetOr(app, "status.conditions", []metav1.Condition{}) {
		if c.Type == "Ready" && c.ObservedGeneration == kopf.GetOr(app, "metadata.generation", int64(0)) {
			return string(c.Status) + ": " + c.Reason
		}
	}
	return ""
}

func TestWebApp_NewCertificateReplacesThePods(t *testing.T) {
	const checksum = "spec.template.metadata.annotations[example.com/config]"
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	operator := cluster.Run(Register)
	app := cluster.ApplyFile("obj.yaml")
	app.Set("spec.tlsSecret", "cert")
	operator.WaitHandled(app)
	deployment := cluster.Object("deployments", "shop")
	deployment.WaitValue("spec.template.spec.volumes[0].secret.secretName", "cert")
	replaced := func(change func()) {
		before := deployment.Get().Get(checksum)
		change()
		deployment.WaitFor("its pods are replaced", func(o *kopf.Object) bool { return o.Get(checksum) != before })
	}
	var cert *kopftest.Object
	replaced(func() {
		cert = cluster.Apply(`
apiVersion: v1
kind: Secret
metadata: {name: cert}
stringData: {tls.crt: first}
`)
	})
	replaced(func() { cert.Patch(map[string]any{"stringData": map[string]any{"tls.crt": "second"}}) })
}

func TestWebApp_ExistingObjectsOfOthersStay(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	config := cluster.Apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: shop}
data: {GREETING: mine}
`)
	operator := cluster.Run(Register)
	cluster.ApplyFile("obj.yaml")
	operator.WaitLog("apply ConfigMap shop: it exists, and was not made for this object")
	config.WaitValue("data.GREETING", "mine")
	cluster.Object("services", "shop").WaitValue("spec.selector.app", "shop") // the others are applied

	config.Delete()
	operator.Restart()
	config.WaitValue("data.GREETING", "hello")
}

func TestWebApp_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("crd.yaml")
		c.Start()
		app := c.ApplyFile("obj.yaml")
		c.WaitHandled(app)
		app.Patch("spec: {host: null, replicas: 1}") // prunes the ingress
		c.WaitHandled(app)
		c.Object("ingresses", "shop").WaitGone()
		app.Set("spec.host", "www.example.com")
		c.WaitHandled(app)
		app.Delete()
		c.Object("deployments", "shop").WaitGone()
		c.Object("ingresses", "shop").WaitGone()
	})
}
