package objects_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/internal/objects"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

var (
	podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	claimsOfSet = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// waitFor waits until a controller has made n objects of a resource.
func (c *cluster) waitFor(res schema.GroupVersionResource, n int) {
	c.t.Helper()
	list, err := c.client.Resource(res).Namespace(c.namespace).List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	if n -= len(list.Items); n <= 0 {
		return
	}
	w, err := c.client.Resource(res).Namespace(c.namespace).Watch(c.t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == apiwatch.Added {
			n--
		}
		if n == 0 {
			return
		}
	}
	c.t.Fatalf("%d %s are missing", n, res.Resource)
}

// workload creates an object of a group with a selector and a template of Pods.
func (c *cluster) workload(group, resource, kind, name string, spec tree) inspect.Ref {
	c.t.Helper()
	labels := tree{"app": name}
	template := tree{"metadata": tree{"labels": labels}, "spec": tree{"containers": []any{tree{"name": "web", "image": "web"}}}}
	if kind == "CronJob" {
		template["spec"].(tree)["restartPolicy"] = "Never"
		spec["jobTemplate"] = tree{"spec": tree{"template": template}}
	} else {
		spec["selector"], spec["template"] = tree{"matchLabels": labels}, template
	}
	res := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	ref := c.create(res, kind, name, tree{"apiVersion": group + "/v1", "spec": spec})
	ref.Resource = resource + ".v1." + group
	return ref
}

// below returns the objects below an object as "Kind name" with their first column.
func below(t *testing.T, c *objects.Client, of inspect.Ref) (found []string, rows []runner.Row, err error) {
	t.Helper()
	rows, more, err := c.Below(t.Context(), of, nil)
	if more {
		t.Errorf("%s has more objects", of.Name)
	}
	for _, r := range rows {
		found = append(found, r.Kind+" "+r.Name+" "+r.Columns[0].Title)
	}
	return found, rows, err
}

func TestBelow_DescendsFromDeploymentToPods(t *testing.T) {
	c := newCluster(t)
	deployment := c.workload("apps", "deployments", "Deployment", "web", tree{"replicas": int64(2)})
	c.workload("apps", "deployments", "Deployment", "other", tree{"replicas": int64(1)})
	c.waitFor(podResource, 3)
	found, sets, err := below(t, client(), deployment)
	if err != nil || len(found) != 1 || !strings.HasPrefix(found[0], "ReplicaSet web-") || !strings.HasSuffix(found[0], " DESIRED") {
		t.Fatalf("%v, %q", err, found)
	}
	found, pods, err := below(t, client(), sets[0].Ref)
	if err != nil || len(found) != 2 || !strings.HasPrefix(found[0], "Pod "+sets[0].Name+"-") || !strings.HasSuffix(found[0], " READY") {
		t.Fatalf("%v, %q", err, found)
	}
	if found, _, err := below(t, client(), pods[0].Ref); len(found) > 0 || err != nil {
		t.Errorf("below a Pod: %v, %q", err, found)
	}
	deployment.UID = "another"
	if _, _, err := below(t, client(), deployment); err == nil || err.Error() != "web was deleted and created again" {
		t.Error(err)
	}

	c.create(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}, "Role", "viewer", tree{
		"apiVersion": "rbac.authorization.k8s.io/v1", "rules": []any{tree{"apiGroups": []any{"apps"}, "resources": []any{"*"}, "verbs": []any{"get", "list"}}},
	})
	c.create(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, "RoleBinding", "viewer", tree{
		"apiVersion": "rbac.authorization.k8s.io/v1", "roleRef": tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "viewer"},
		"subjects": []any{tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "viewer-of-" + c.namespace}},
	})
	viewer := &objects.Client{Config: func() (*rest.Config, error) {
		as := rest.CopyConfig(config)
		as.Impersonate.UserName = "viewer-of-" + c.namespace
		return as, nil
	}}
	for {
		_, _, err := below(t, viewer, sets[0].Ref)
		if err != nil && strings.HasPrefix(err.Error(), "pods: 403 forbidden: pods is forbidden") {
			break
		}
		if err == nil || !strings.HasPrefix(err.Error(), "403 forbidden: replicasets") || t.Context().Err() != nil { // until the binding has an effect
			t.Fatal(err)
		}
	}
}

func TestBelow_OfStatefulSetHasItsClaims(t *testing.T) {
	c := newCluster(t)
	claim := tree{"accessModes": []any{"ReadWriteOnce"}, "resources": tree{"requests": tree{"storage": "1Gi"}}}
	set := c.workload("apps", "statefulsets", "StatefulSet", "db", tree{
		"replicas": int64(1), "serviceName": "db", "volumeClaimTemplates": []any{tree{"metadata": tree{"name": "data"}, "spec": claim}},
	})
	for _, name := range []string{"data-db-copy", "data-dbs-0", "data-db-0-old"} {
		c.create(claimsOfSet, "PersistentVolumeClaim", name, tree{"metadata": tree{"labels": tree{"app": "db"}}, "spec": claim})
	}
	c.waitFor(podResource, 1)
	found, _, err := below(t, client(), set)
	if want := "Pod db-0 READY, PersistentVolumeClaim data-db-0 STATUS"; err != nil || strings.Join(found, ", ") != want {
		t.Errorf("%v, %q", err, found)
	}
}

func TestBelow_WithoutSelectorFollowsOwnerReferences(t *testing.T) {
	c := newCluster(t)
	cron := c.workload("batch", "cronjobs", "CronJob", "backup", tree{"schedule": "0 0 1 1 *", "suspend": true})
	template := tree{"spec": tree{"restartPolicy": "Never", "containers": []any{tree{"name": "web", "image": "web"}}}}
	for name, uid := range map[string]string{"backup-1": cron.UID, "of-another": "another"} {
		c.create(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "Job", name, tree{
			"apiVersion": "batch/v1", "spec": tree{"suspend": true, "template": template}, "metadata": tree{"ownerReferences": []any{
				tree{"apiVersion": "batch/v1", "kind": "CronJob", "name": "backup", "uid": uid},
			}},
		})
	}
	if found, _, err := below(t, client(), cron); err != nil || strings.Join(found, ", ") != "Job backup-1 STATUS" {
		t.Errorf("%v, %q", err, found)
	}
}
