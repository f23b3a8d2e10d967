package e2e

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestRestart_KilledClusterLosesNothing(t *testing.T) {
	dir := t.TempDir()
	c := start(t, "--data-dir", dir)
	gvr := c.define(t, "treasures", "Treasure")
	ns := c.namespace(t, "kept")
	before := c.create(t, gvr, object(t, "{apiVersion: example.com/v1, kind: Treasure, metadata: {name: gold, namespace: %s}, spec: {weight: 3}}", ns))
	c.create(t, deployments, deployment(t, ns, 2))
	running := func(c *cluster, want int) {
		t.Helper()
		eventually(t, "the pods are running", func(ctx context.Context) (bool, error) {
			phases, err := c.podPhases(ctx, ns)
			return phases["Running"] == want && len(phases) == 1, err
		})
	}
	running(c, 2)
	// The last write before the end must be there as well.
	c.create(t, configMaps, object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: last, namespace: %s}}", ns))
	c.kill(t)

	again := start(t, "--data-dir", dir)
	t.Logf("usable again after %.3f s", again.Seconds)
	if again.Server != c.Server {
		t.Errorf("it serves at %s, and did at %s", again.Server, c.Server)
	}
	after := again.get(t, gvr, ns, "gold")
	if after.GetUID() != before.GetUID() || after.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("the object is %v, and was %v", after, before)
	}
	again.get(t, configMaps, ns, "last")

	// The old pods run on, and the new ones get other addresses.
	scale := []byte(`{"spec":{"replicas":5}}`)
	if _, err := again.client.Resource(deployments).Namespace(ns).Patch(t.Context(), "web", "application/merge-patch+json", scale, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	running(again, 5)
	list, err := again.client.Resource(pods).Namespace(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owner := map[string]string{}
	for _, p := range list.Items {
		ip, _, err := unstructured.NestedString(p.Object, "status", "podIP")
		if err != nil || ip == "" {
			t.Errorf("%s has no address (%v)", p.GetName(), err)
		}
		if other, taken := owner[ip]; taken {
			t.Errorf("%s and %s have the address %s", other, p.GetName(), ip)
		}
		owner[ip] = p.GetName()
	}
}
