package peering_test

import (
	"os"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// legacyCluster has the resources of peering in both API groups. Tests that run in parallel must not see that: they share
// the control plane, and begin after the others.
func legacyCluster(t *testing.T) (_ *kopftest.Cluster, restore func()) {
	t.Helper()
	cluster := newCluster(t)
	text, err := os.ReadFile("../../examples/06-peering/peering.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definitions := cluster.ApplyAll(strings.ReplaceAll(string(text), "kopf.dev", "zalando.org"))
	return cluster, func() {
		for _, d := range definitions {
			d.Delete()
			d.WaitGone()
		}
		session, err := kube.NewSession(cluster.Config, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		client := kube.NewClient(kube.Fixed(session), kube.ClientOptions{})
		cluster.WaitUntil("the group is gone", func() bool {
			found, err := client.Discover(t.Context(), "zalando.org")
			if err != nil {
				t.Fatal(err)
			}
			return len(found.Resources) == 0
		})
	}
}

func TestPeering_ObjectInLegacyGroupOnly(t *testing.T) {
	cluster, restore := legacyCluster(t)
	defer restore()
	legacy := cluster.Create(tree{"apiVersion": "zalando.org/v1", "kind": "KopfPeering", "metadata": tree{"name": "default"}})
	x := newTeam(cluster)
	low := x.launch("low", 0, func(o *kopf.Operator) { o.Settings.Peering.Mandatory = true })
	running := func(s *inspect.Snapshot) bool { return s.Operator.State == inspect.OperatorRunning }
	low.WaitInspect("it runs, since one object is enough", running)
	high := x.launch("high", 10)
	low.WaitInspect("it pauses for the peer in the object of zalando.org", func(s *inspect.Snapshot) bool {
		return s.Operator.State == inspect.OperatorPaused && len(s.Operator.Peerings) == 1 && s.Operator.Peerings[0].Group == "zalando.org"
	})
	legacy.WaitFor("its record says so", func(o *kopf.Object) bool { return o.Get("status.low.paused") != nil })

	created := peeringObject(cluster, "default")
	created.WaitFor("both take part in the new object, too", func(o *kopf.Object) bool {
		return o.Get("status.low.priority") != nil && o.Get("status.high.priority") != nil
	})
	client, err := peering.NewClient(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	found, err := client.Find(t.Context(), peering.Scope{Name: "default", Namespaces: []string{cluster.Namespace}})
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	if one, other := found[0].String(), found[1].String(); one != "KopfPeering default in "+cluster.Namespace || other != "KopfPeering.zalando.org default in "+cluster.Namespace {
		t.Errorf("they are named %s and %s", one, other)
	}
	high.Stop()
	low.WaitInspect("it resumes", running)
	legacy.Delete()
	legacy.WaitGone()
	created.Delete()
	created.WaitGone()
	low.WaitInspect("it pauses, since the peering is mandatory", func(s *inspect.Snapshot) bool {
		return s.Operator.State == inspect.OperatorPaused && s.Operator.Reason == "until KopfPeering default in "+cluster.Namespace+" exists"
	})
	low.Stop()
}
