package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// All subtests of TestObjects_BehaveAsInCluster share one cluster.
func TestObjects_BehaveAsInCluster(t *testing.T) {
	c := start(t, "--data-dir", t.TempDir())

	t.Run("a custom resource can be created as soon as its CRD has settled", func(t *testing.T) {
		// The upstream delay is two seconds, for each new resource. A busy machine takes that long at times, but not always.
		const limit = 1500 * time.Millisecond
		shortest := time.Hour
		for n := 0; n < 5 && shortest > limit; n++ {
			gvr := c.define(t, fmt.Sprintf("quicks%d", n), fmt.Sprintf("Quick%d", n))
			eventually(t, "the CRD is backdated", func(ctx context.Context) (bool, error) {
				crd, err := c.client.Resource(crds).Get(ctx, gvr.Resource+".example.com", metav1.GetOptions{})
				if err != nil {
					return false, err
				}
				return time.Since(establishedAt(t, crd)) > 5*time.Second, nil
			})
			begin := time.Now()
			c.create(t, gvr, object(t, "{apiVersion: example.com/v1, kind: Quick%d, metadata: {name: one, namespace: default}}", n))
			shortest = min(shortest, time.Since(begin))
		}
		if shortest > limit {
			t.Errorf("the quickest creation took %s", shortest)
		}
	})

	t.Run("a deletion cascades over a new resource", func(t *testing.T) {
		gvr := c.define(t, "owners", "Owner")
		owner := c.create(t, gvr, object(t, "{apiVersion: example.com/v1, kind: Owner, metadata: {name: owner, namespace: default}}"))
		c.create(t, configMaps, object(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  name: owned
  namespace: default
  ownerReferences: [{apiVersion: example.com/v1, kind: Owner, name: owner, uid: %s}]
`, owner.GetUID()))
		c.delete(t, gvr, "default", "owner")
		took := eventually(t, "the dependent is deleted", c.gone(configMaps, "default", "owned"))
		t.Logf("cascaded after %s", took)
		// Upstream it takes up to 30 s until the resource is known.
		if took > 15*time.Second {
			t.Errorf("it took %s", took)
		}
	})

	t.Run("a namespace is deleted with all that is in it", func(t *testing.T) {
		gvr := c.define(t, "contents", "Content")
		ns := c.namespace(t, "doomed")
		c.create(t, gvr, object(t, "{apiVersion: example.com/v1, kind: Content, metadata: {name: custom, namespace: %s}}", ns))
		c.create(t, configMaps, object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: builtin, namespace: %s}}", ns))
		c.delete(t, namespaces, "", ns)
		eventually(t, "the namespace is gone", c.gone(namespaces, "", ns))
		eventually(t, "the custom resource is gone", c.gone(gvr, ns, "custom"))
	})

	t.Run("a deployment gets running pods, and loses them", func(t *testing.T) {
		ns := c.namespace(t, "deploying")
		c.create(t, deployments, deployment(t, ns, 2))
		eventually(t, "the deployment is available", func(ctx context.Context) (bool, error) {
			d, err := c.client.Resource(deployments).Namespace(ns).Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			available, _, err := unstructured.NestedInt64(d.Object, "status", "availableReplicas")
			return available == 2, err
		})
		phases, err := c.podPhases(t.Context(), ns)
		if err != nil || phases["Running"] != 2 {
			t.Errorf("the pods are %v (%v)", phases, err)
		}
		c.delete(t, deployments, ns, "web")
		eventually(t, "the pods are gone", func(ctx context.Context) (bool, error) {
			phases, err := c.podPhases(ctx, ns)
			return len(phases) == 0, err
		})
	})

	t.Run("a job completes", func(t *testing.T) {
		ns := c.namespace(t, "working")
		c.create(t, jobs, object(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: %s}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: busybox}]}}}
`, ns))
		eventually(t, "the job has succeeded", func(ctx context.Context) (bool, error) {
			j, err := c.client.Resource(jobs).Namespace(ns).Get(ctx, "once", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			succeeded, _, err := unstructured.NestedInt64(j.Object, "status", "succeeded")
			return succeeded == 1, err
		})
	})

	t.Run("a claim is bound to a volume", func(t *testing.T) {
		ns := c.namespace(t, "storing")
		c.create(t, volumes, object(t, `
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {storageClassName: manual, capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /data}}
`))
		c.create(t, claims, object(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim, namespace: %s}
spec: {storageClassName: manual, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`, ns))
		eventually(t, "the claim is bound", func(ctx context.Context) (bool, error) {
			claim, err := c.client.Resource(claims).Namespace(ns).Get(ctx, "claim", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			phase, _, err := unstructured.NestedString(claim.Object, "status", "phase")
			return phase == "Bound", err
		})
	})

	t.Run("all objects of a resource are migrated to its stored version", func(t *testing.T) {
		c.create(t, migrations, object(t, `
apiVersion: storagemigration.k8s.io/v1
kind: StorageVersionMigration
metadata: {name: all-config-maps}
spec: {resource: {group: "", resource: configmaps}}
`))
		eventually(t, "the migration has begun", func(ctx context.Context) (bool, error) {
			m, err := c.client.Resource(migrations).Get(ctx, "all-config-maps", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			version, _, err := unstructured.NestedString(m.Object, "status", "resourceVersion")
			return version != "", err
		})
		// Otherwise, the migration waits about a minute until the server says how new the cache of config maps is.
		c.create(t, configMaps, object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: newest, namespace: default}}"))
		eventually(t, "the migration has succeeded", func(ctx context.Context) (bool, error) {
			m, err := c.client.Resource(migrations).Get(ctx, "all-config-maps", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			conditions, _, err := unstructured.NestedSlice(m.Object, "status", "conditions")
			for _, o := range conditions {
				if o := o.(map[string]any); o["type"] == "Succeeded" && o["status"] == "True" {
					return true, nil
				}
			}
			return false, err
		})
	})

	t.Run("the node says that it is simulated", func(t *testing.T) {
		n := c.get(t, nodes, "", "simulated-node")
		if n.GetLabels()["kopf.dev/simulated"] != "true" {
			t.Errorf("its labels are %v", n.GetLabels())
		}
	})
}

func deployment(t *testing.T, ns string, replicas int) *unstructured.Unstructured {
	t.Helper()
	return object(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %s}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
`, ns, replicas)
}

func establishedAt(t *testing.T, crd *unstructured.Unstructured) time.Time {
	t.Helper()
	conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conditions {
		c := c.(map[string]any)
		if c["type"] != "Established" || c["status"] != "True" {
			continue
		}
		at, err := time.Parse(time.RFC3339, c["lastTransitionTime"].(string))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	return time.Now()
}
