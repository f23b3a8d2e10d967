package children

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestPod_IsReplacedAndDeletedWithItsOwner(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	waitField := func(want string) {
		t.Helper()
		cluster.WaitList("pods", "one pod with the field "+want, func(pods []*kopf.Object) bool {
			return len(pods) == 1 && pods[0].Get("spec.containers[0].env[0].value") == want
		})
	}
	waitField("value")
	example.Set("spec.field", "other")
	waitField("other")

	pod := cluster.Object("pods", podName(t, cluster))
	first := pod.Get().Get("metadata.uid")
	pod.Delete()
	pod.WaitFor("it is another one", func(o *kopf.Object) bool { return o.Get("metadata.uid") != first })

	example.Delete()
	cluster.WaitList("pods", "no pods", func(pods []*kopf.Object) bool { return len(pods) == 0 })
}

func podName(t *testing.T, cluster *kopftest.Cluster) string {
	t.Helper()
	pods := cluster.List("pods")
	if len(pods) != 1 {
		t.Fatalf("%d pods", len(pods))
	}
	return pods[0].Get("metadata.name").(string)
}

func TestPodFor_UsesDefaults(t *testing.T) {
	pod := podFor("x", &Example{})
	main := pod.Spec.Containers[0]
	if value := main.Env[0].Value; value != "default-value" {
		t.Errorf("the field is %v", value)
	}
	if !strings.HasSuffix(main.Args[0], "sleep 0") {
		t.Errorf("the command is %v", main.Args)
	}
	if !strings.HasPrefix(pod.Name, "x-") {
		t.Errorf("the name is %s", pod.Name)
	}
}

func TestPod_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		example.Set("spec.field", "other")
		c.WaitHandled(example)
		c.WaitList("pods", "the first pod is replaced", func(pods []*kopf.Object) bool {
			return len(pods) == 1 && pods[0].Get("spec.containers[0].env[0].value") == "other"
		})
		example.Delete()
		c.WaitList("pods", "no pods", func(pods []*kopf.Object) bool { return len(pods) == 0 })
	})
}
