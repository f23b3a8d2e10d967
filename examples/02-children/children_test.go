package children

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestCreate_PodIsDeletedWithItsOwner(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(example)

	pods := cluster.List("pods")
	if len(pods) != 1 {
		t.Fatalf("%d pods", len(pods))
	}
	var result struct{ Children []string }
	example.WaitResult("create", &result)
	if uid := pods[0].Get("metadata.uid"); len(result.Children) != 1 || result.Children[0] != uid {
		t.Errorf("the children are %v, want %v", result.Children, uid)
	}
	if label := pods[0].Get("metadata.labels.somelabel"); label != "somevalue" {
		t.Errorf("the label is %v", label)
	}

	example.Delete()
	cluster.WaitList("pods", "no pods", func(pods []*kopf.Object) bool { return len(pods) == 0 })
}

func TestPodFor_UsesDefaults(t *testing.T) {
	c := kopftest.Change[Example](t, `
apiVersion: kopf.dev/v1
kind: KopfExample
metadata: {name: x, namespace: here, uid: "1-2-3"}
spec: {}
`)
	made, err := podFor(c)
	if err != nil {
		t.Fatal(err)
	}
	pod, err := kopf.ObjectOf(made)
	if err != nil {
		t.Fatal(err)
	}
	if value := pod.Get("spec.containers[0].env[0].value"); value != "default-value" {
		t.Errorf("the field is %v", value)
	}
	if args, _ := pod.Get("spec.containers[0].args[0]").(string); !strings.HasSuffix(args, "sleep 0") {
		t.Errorf("the command is %v", args)
	}
	if namespace := pod.Get("metadata.namespace"); namespace != "here" {
		t.Errorf("the namespace is %v", namespace)
	}
}
