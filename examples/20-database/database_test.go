package database

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestDatabase_StepsFollowEachOther(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("crd.yaml")
	operator := cluster.Run(Register)
	database := cluster.ApplyFile("obj.yaml")

	secret, server := cluster.Object("secrets", "orders"), cluster.Object("statefulsets", "orders")
	job, service := cluster.Object("jobs", "orders"), cluster.Object("services", "orders")
	published := cluster.Object("configmaps", cluster.Namespace+"-orders")
	published.Namespace = "kube-public"
	published.WaitValue("data.version", "17")
	database.WaitValue("status.version", "17")
	password := secret.Get().Get("data.password")
	if created := created(t, secret, server, job, service, published); created != "" {
		t.Error(created)
	}

	before := job.Get().Get("metadata.uid")
	database.Set("spec.version", "18")
	published.WaitValue("data.version", "18")
	database.WaitValue("status.version", "18")
	if job.Get().Get("metadata.uid") == before {
		t.Error("the job of the first version was not replaced")
	}
	operator.Restart()
	database.Set("spec.version", "19")
	database.WaitValue("status.version", "19")
	if got := secret.Get().Get("data.password"); got != password {
		t.Error("the password has changed")
	}

	pod := cluster.Object("pods", "orders-0").Get().Get("metadata.uid")
	claims, set := "spec.volumeClaimTemplates[0].spec.resources.requests.storage", server.Get().Get("metadata.uid")
	database.Set("spec.size", "2Gi")
	server.WaitFor("it is created anew", func(o *kopf.Object) bool { return o.Get(kopf.Path(claims)) == "2Gi" && o.Get("metadata.uid") != set })
	if got := cluster.Object("pods", "orders-0").Get().Get("metadata.uid"); got != pod {
		t.Error("the pod was replaced together with the StatefulSet")
	}

	database.Delete()
	database.WaitGone()
	if published.Exists() {
		t.Error("the published address has outlived the database")
	}
	secret.WaitGone()
	server.WaitGone()
}

// created returns a message about the first child that is older than the child before it; empty if there is none.
func created(t *testing.T, children ...*kopftest.Object) string {
	t.Helper()
	last, name := "", ""
	for _, child := range children {
		at := kopf.GetOr(child.Get(), "metadata.creationTimestamp", "")
		if at < last {
			return child.String() + " is older than " + name
		}
		last, name = at, child.String()
	}
	return ""
}

func TestDatabase_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("crd.yaml")
		c.Start()
		database := c.ApplyFile("obj.yaml")
		database.WaitValue("status.version", "17")
		database.Set("spec.size", "2Gi") // replaces the StatefulSet
		c.Object("statefulsets", "orders").WaitValue("spec.volumeClaimTemplates[0].spec.resources.requests.storage", "2Gi")
		c.WaitHandled(database)
		database.Delete()
		database.WaitGone()
		c.Object("statefulsets", "orders").WaitGone()
		c.Object("secrets", "orders").WaitGone()
	})
}
