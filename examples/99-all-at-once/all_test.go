package allatonce

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestAllAtOnce_EveryHandlerIsCalled(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	operator.WaitLog("starting after retries")
	other := cluster.Apply("{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {containers: [{name: c, image: busybox}]}}")

	example := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(example)
	for _, id := range []string{"1", "2"} {
		var result map[string]int
		if example.WaitResult("create"+id, &result); result["job"+id+"-status"] != 100 {
			t.Errorf("got %v of create%s", result, id)
		}
	}
	operator.WaitLog("whoops")
	operator.WaitLog("This pod is special for us.")
	about := map[any]string{example.Get().Get("metadata.uid"): "the object"}
	for _, child := range append(cluster.List("pods"), cluster.List("configmaps")...) {
		uid, name := child.Get("metadata.uid"), child.Get("metadata.name")
		if uid == other.Get().Get("metadata.uid") || name == "kube-root-ca.crt" {
			continue // not of the handlers
		}
		about[uid] = kopf.GetOr(child, "kind", "")
		if owner := child.Get("metadata.ownerReferences[0].name"); owner != "kopf-example-1" {
			t.Errorf("the owner of %s is %v", name, owner)
		}
	}
	cluster.WaitList("events.v1", "the events of create1", func(events []*kopf.Object) bool {
		missing := map[string]string{
			"the first job has begun": "the object", "Cannot do something": "the object", "Created as part of the job1step": "ConfigMap",
		}
		for _, e := range events {
			message := kopf.GetOr(e, "message", "")
			if missing[message] == about[e.Get("involvedObject.uid")] {
				delete(missing, message)
			}
		}
		return len(missing) == 0
	})

	example.Set("spec.lst", []string{"a"})
	operator.WaitHandled(example)
	operator.WaitLog("difference handler=update path=spec.lst")
	operator.WaitLog("the list has changed handler=updateList/spec.lst from=[] to=[a]")

	if finalizers := example.Get().Get("metadata.finalizers"); finalizers != nil {
		t.Errorf("the finalizers are %v, want none for an optional handler", finalizers)
	}
	example.Delete()
	example.WaitGone()
	operator.Stop()
	operator.WaitLog("cleaning up")
	for _, line := range operator.LogEntries() {
		if line.Message == "This pod is special for us." && line.Object == cluster.Namespace+"/other" {
			t.Error("the other pod is special, too")
		}
	}
}

func TestAllAtOnce_SurvivesEveryCrash(t *testing.T) {
	second = time.Millisecond
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		for _, made := range c.List("configmaps") {
			if name := made.Get("metadata.name"); name != "kopf-example-1" && name != "kube-root-ca.crt" {
				c.T().Errorf("there is another ConfigMap: %v", name)
			}
		}
		example.Set("spec.lst", []string{"a"})
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
		c.Object("pods", "kopf-example-1").WaitGone()
	})
}
