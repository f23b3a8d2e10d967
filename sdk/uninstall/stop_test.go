package uninstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
)

// createDeployment creates a Deployment with a pod, as its controller and the scheduler would.
func createDeployment(t *testing.T, client *kube.Client, namespace string) {
	t.Helper()
	const template = `{metadata: {labels: {app.kubernetes.io/name: op}}, spec: {containers: [{name: operator, image: op}]}}`
	apply(t, client, &deploymentResource, namespace, "metadata: {name: op}\nspec: {replicas: 2, selector: {matchLabels: {app.kubernetes.io/name: op}}, template: "+template+"}")
	createPod(t, client, namespace, "op-7f9c5d-x2x4t", "Running")
	createPod(t, client, namespace, "op-7f9c5d-y2y4y", "Failed")
}

func createPod(t *testing.T, client *kube.Client, namespace, name, phase string) {
	t.Helper()
	createPodLike(t, client, namespace, "{name: "+name+", labels: {app.kubernetes.io/name: op}}", phase)
}

// createOrphan creates a running pod of a ReplicaSet without its Deployment. The selector of the ReplicaSet does not
// match, and it is not the pod's controller, so that no controller ends the pod.
func createOrphan(t *testing.T, client *kube.Client, namespace, owner, hash, name string) {
	t.Helper()
	replicaSets := &resources.Resource{Group: "apps", Version: "v1", Plural: "replicasets", Kind: "ReplicaSet", Namespaced: true}
	const template = `{metadata: {labels: {not: this}}, spec: {containers: [{name: operator, image: op}]}}`
	set := apply(t, client, replicaSets, namespace, "metadata: {name: "+owner+"}\nspec: {replicas: 0, selector: {matchLabels: {not: this}}, template: "+template+"}")
	const metadata = "{name: %s, labels: {app.kubernetes.io/name: op, pod-template-hash: %s}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: %s, uid: %s}]}"
	createPodLike(t, client, namespace, fmt.Sprintf(metadata, name, hash, owner, set.UID), "Running")
}

func createPodLike(t *testing.T, client *kube.Client, namespace, metadata, phase string) {
	t.Helper()
	testcluster.Eventually(t, "the service account is there", func() error {
		accounts := &resources.Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}
		_, err := client.WithoutRetries().Post(t.Context(), accounts, namespace, []byte(`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`))
		if kube.Classify(err) == kube.Conflict {
			return nil
		}
		return err
	})
	pod := apply(t, client, &podResource, namespace, "metadata: "+metadata+"\nspec: {nodeName: none, terminationGracePeriodSeconds: 0, containers: [{name: operator, image: op}]}")
	if _, err := client.Patch(t.Context(), &podResource, namespace, pod.Name, "status", patch.MergeType, []byte(`{"status":{"phase":"`+phase+`"}}`)); err != nil {
		t.Fatal(err)
	}
}

// replicasOf returns the number of replicas that the Deployment is meant to have.
func replicasOf(t *testing.T, client *kube.Client, namespace string) int {
	t.Helper()
	o, err := client.Get(t.Context(), &deploymentResource, namespace, "op")
	if err != nil {
		t.Fatal(err)
	}
	var content struct{ Spec struct{ Replicas int } }
	if err := json.Unmarshal(o.Raw, &content); err != nil {
		t.Fatal(err)
	}
	return content.Spec.Replicas
}

func TestStop_AwaitsPodsAndLeases(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	createDeployment(t, client, namespace)
	createLease(t, client, namespace, "op", "", held)
	create(t, client, namespace, "one", 1, finalizer)
	target := targetIn(namespace)
	target.Deployment, target.DeploymentNamespace, target.Election, target.LeaseNamespace = "op", namespace, "op", namespace

	dry := newRun(t, config, target, Options{DryRun: true, StopTimeout: testTimeout})
	if _, err := dry.run(t.Context()); err != nil || dry.lines()[0] != "deployments.apps/op in "+namespace+": 2 replicas to stop" || replicasOf(t, client, namespace) != 2 {
		t.Errorf("dry run: %v\n%s", err, &dry.out)
	}
	var pods, leases atomic.Int32
	through := unreliable(t, config, func(_ http.ResponseWriter, r *http.Request) bool {
		var err error
		switch {
		case strings.HasSuffix(r.URL.Path, "/pods") && pods.Add(1) == 3: // the pod ends
			if replicasOf(t, client, namespace) != 0 || withFinalizer(t, config, namespace) != 1 {
				t.Error("it does not wait for the pods")
			}
			err = testcluster.Delete(r.Context(), client, &podResource, namespace, "op-7f9c5d-x2x4t")
		case strings.HasSuffix(r.URL.Path, "/leases/op") && leases.Add(1) == 3: // the lease expires
			if withFinalizer(t, config, namespace) != 1 {
				t.Error("it does not wait for the lease")
			}
			_, err = client.Patch(r.Context(), &leaseResource, namespace, "op", "", patch.MergeType, []byte(`{"spec":{"renewTime":`+gone+`}}`))
		}
		if err != nil {
			t.Error(err)
		}
		return false
	})
	r := newRun(t, through, target, Options{StopTimeout: testTimeout})
	if found, err := r.run(t.Context()); err != nil || found != 2 || r.lines()[0] != "deployments.apps/op in "+namespace+": scaled to 0" {
		t.Errorf("%v\n%s%q", err, &r.out, r.notes)
	}
	if n := withFinalizer(t, config, namespace); n > 0 {
		t.Errorf("%d objects have the finalizer", n)
	}
	again := newRun(t, config, target, Options{StopTimeout: testTimeout})
	if found, err := again.run(t.Context()); err != nil || found != 0 || again.out.Len() > 0 {
		t.Errorf("the second time: %v\n%s", err, &again.out)
	}
}

// TestStop_AwaitsControllers shows a Deployment and then a ReplicaSet whose controllers have not noticed the scaling yet:
// they could still create a pod.
func TestStop_AwaitsControllers(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	createDeployment(t, client, namespace)
	var deployments, sets, pods atomic.Int32
	through := unreliable(t, config, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case strings.HasSuffix(r.URL.Path, "/deployments/op") && deployments.Add(1) == 1:
			fmt.Fprint(w, `{"metadata":{"name":"op","generation":2},"spec":{"replicas":0},"status":{"observedGeneration":1}}`)
			return true
		case strings.HasSuffix(r.URL.Path, "/replicasets"):
			switch sets.Add(1) {
			case 2:
				fmt.Fprint(w, `{"items":[{"metadata":{"name":"op-7f9c5d","generation":2},"spec":{"replicas":0},"status":{"observedGeneration":1}}]}`)
				return true
			case 3:
				fmt.Fprint(w, `{"items":[{"metadata":{"name":"op-7f9c5d","generation":1},"spec":{"replicas":1},"status":{"observedGeneration":1}}]}`)
				return true
			}
		case strings.HasSuffix(r.URL.Path, "/pods") && pods.Add(1) == 1:
			if deployments.Load() < 4 || sets.Load() < 4 {
				t.Errorf("it looks for pods after %d looks at the Deployment and %d at its ReplicaSets", deployments.Load(), sets.Load())
			}
			if err := testcluster.Delete(r.Context(), client, &podResource, namespace, "op-7f9c5d-x2x4t"); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	target := targetIn(namespace)
	target.Deployment, target.DeploymentNamespace = "op", namespace
	r := newRun(t, through, target, Options{StopTimeout: testTimeout})
	if _, err := r.run(t.Context()); err != nil {
		t.Errorf("%v\n%s%q", err, &r.out, r.notes)
	}
	if pods.Load() == 0 {
		t.Error("it does not look for pods")
	}
}

func TestStop_SelectsPodsAsTheDeploymentDoes(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	createDeployment(t, client, namespace)
	// As with a prefix of the name, and with a label that a kustomization adds to the selector.
	const template = `{metadata: {labels: {app.kubernetes.io/name: op, team: red}}, spec: {containers: [{name: operator, image: op}]}}`
	apply(t, client, &deploymentResource, namespace, "metadata: {name: team-op}\nspec: {replicas: 1, selector: {matchLabels: {app.kubernetes.io/name: op, team: red}}, template: "+template+"}")
	target := targetIn(namespace)
	target.Deployment, target.DeploymentNamespace = "team-op", namespace
	r := newRun(t, config, target, Options{StopTimeout: testTimeout})
	if _, err := r.run(t.Context()); err != nil || r.lines()[0] != "deployments.apps/team-op in "+namespace+": scaled to 0" {
		t.Errorf("%v\n%s%q", err, &r.out, r.notes)
	}
	if n := replicasOf(t, client, namespace); n != 2 {
		t.Errorf("the other Deployment has %d replicas", n)
	}
	createPod(t, client, namespace, "team-op-7f9c5d-x2x4t", "Running")
	if _, err := client.Patch(t.Context(), &podResource, namespace, "team-op-7f9c5d-x2x4t", "", patch.MergeType, []byte(`{"metadata":{"labels":{"team":"red"}}}`)); err != nil {
		t.Fatal(err)
	}
	again := newRun(t, config, target, Options{StopTimeout: 1})
	if _, err := again.run(t.Context()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "its pod team-op-7f9c5d-x2x4t in "+namespace+" has not ended") {
		t.Errorf("the error is %v", err)
	}
}

func TestStop_RunningPodFailsAfterTimeout(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	createOrphan(t, client, namespace, "op-7f9c5d", "7f9c5d", "op-7f9c5d-x2x4t")
	create(t, client, namespace, "one", 1, finalizer)
	target := targetIn(namespace)
	target.Deployment, target.DeploymentNamespace = "op", namespace
	r := newRun(t, config, target, Options{StopTimeout: 1})
	if _, err := r.run(t.Context()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "its pod op-7f9c5d-x2x4t in "+namespace+" has not ended") {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	through := unreliable(t, config, func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/pods") {
			cancel()
		}
		return false
	})
	if _, err := newRun(t, through, target, Options{StopTimeout: testTimeout}).run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if n := withFinalizer(t, config, namespace); n != 1 {
		t.Errorf("%d objects have the finalizer", n)
	}
}

func TestStop_FindsPodsOfADeploymentThatIsGone(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	long := "team-" + strings.Repeat("long", 20) // no value of a label
	for _, test := range []struct{ title, deployment, owner, pod string }{
		{"with its own name", "op", "op-7f9c5d", "op-7f9c5d-x2x4t"},
		{"with a prefix that its labels lack", "team-op", "team-op-7f9c5d", "team-op-7f9c5d-x2x4t"},
		{"with a name that is cut in those of its pods", long, long + "-7f9c5d", long[:58] + "x2x4t"},
	} {
		t.Run(test.title, func(t *testing.T) {
			namespace := testcluster.Namespace(t, client)
			create(t, client, namespace, "one", 1, finalizer)
			target := targetIn(namespace)
			target.Deployment, target.DeploymentNamespace = test.deployment, namespace
			createOrphan(t, client, namespace, test.owner, "7f9c5d", test.pod)
			r := newRun(t, config, target, Options{StopTimeout: 1})
			if _, err := r.run(t.Context()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "its pod "+test.pod+" in "+namespace+" has not ended") {
				t.Errorf("the error is %v", err)
			}
			if n := withFinalizer(t, config, namespace); n != 1 {
				t.Errorf("%d objects have the finalizer", n)
			}
		})
	}
}

func TestStop_DoesNotAwaitPodsOfOthers(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	create(t, client, namespace, "one", 1, finalizer)
	createOrphan(t, client, namespace, "op-other-7f9c5d", "7f9c5d", "op-other-7f9c5d-x2x4t") // of the Deployment op-other
	createOrphan(t, client, namespace, "op-7f9c5d", "b6d8f9", "op-7f9c5d-b6d8f9-x2x4t")      // of no Deployment
	target := targetIn(namespace)
	target.Deployment, target.DeploymentNamespace = "op", namespace
	r := newRun(t, config, target, Options{StopTimeout: testTimeout})
	if found, err := r.run(t.Context()); err != nil || found != 1 {
		t.Errorf("%d are found (%v)", found, err)
	}
	if n := withFinalizer(t, config, namespace); n != 0 {
		t.Errorf("%d objects have the finalizer", n)
	}
}
