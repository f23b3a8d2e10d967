package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// edited is a kind whose child others edit.
type edited struct {
	version, plural string
	object          tree // manifest; its name is the name of the parent
	field           string
	other           any  // value that others set
	required        bool // the field cannot be removed
	generation      bool // the kind has metadata.generation
	busy            bool // a controller changes the object again and again
}

var podTemplate = tree{
	"metadata": tree{"labels": tree{"app": "x"}},
	"spec":     tree{"containers": []any{tree{"name": "web", "image": "web"}}},
}

func workload(more tree) tree {
	spec := tree{"selector": tree{"matchLabels": tree{"app": "x"}}, "template": podTemplate, "minReadySeconds": 5}
	for name, value := range more {
		spec[name] = value
	}
	return tree{"spec": spec}
}

var editedKinds = map[string]edited{
	"ConfigMap":      {version: "v1", plural: "configmaps", object: tree{"data": tree{"a": "1", "b": "2"}}, field: "data.a", other: "9"},
	"Secret":         {version: "v1", plural: "secrets", object: tree{"stringData": tree{"a": "1", "b": "2"}}, field: "data.a", other: "OQ=="},
	"Service":        {version: "v1", plural: "services", object: tree{"spec": tree{"ports": []any{tree{"port": 80}}, "sessionAffinity": "ClientIP"}}, field: "spec.sessionAffinity", other: "None"},
	"ServiceAccount": {version: "v1", plural: "serviceaccounts", object: tree{"automountServiceAccountToken": false}, field: "automountServiceAccountToken", other: true},
	"ResourceQuota":  {version: "v1", plural: "resourcequotas", object: tree{"spec": tree{"hard": tree{"pods": "1000", "cpu": "1000m"}}}, field: "spec.hard.pods", other: "7", busy: true},
	"Deployment":     {version: "apps/v1", plural: "deployments", object: workload(tree{"replicas": 0}), field: "spec.minReadySeconds", other: 7, generation: true},
	"StatefulSet":    {version: "apps/v1", plural: "statefulsets", object: workload(tree{"replicas": 0, "serviceName": "x"}), field: "spec.minReadySeconds", other: 7, generation: true},
	"DaemonSet":      {version: "apps/v1", plural: "daemonsets", object: workload(nil), field: "spec.minReadySeconds", other: 7, generation: true},
	"CronJob": {version: "batch/v1", plural: "cronjobs", object: tree{"spec": tree{
		"schedule": "0 3 * * *", "suspend": true, "startingDeadlineSeconds": 60,
		"jobTemplate": tree{"spec": tree{"template": tree{"spec": tree{"restartPolicy": "Never", "containers": []any{tree{"name": "x", "image": "x"}}}}}},
	}}, field: "spec.startingDeadlineSeconds", other: 61, generation: true},
	"Ingress": {version: "networking.k8s.io/v1", plural: "ingresses", object: tree{"spec": tree{
		"ingressClassName": "none", "rules": []any{tree{"host": "a.example.com"}},
	}}, field: "spec.ingressClassName", other: "other", generation: true},
	"NetworkPolicy": {version: "networking.k8s.io/v1", plural: "networkpolicies", object: tree{"spec": tree{
		"podSelector": tree{"matchLabels": tree{"app": "x"}}, "ingress": []any{tree{"ports": []any{tree{"port": 80}}}},
	}}, field: "spec.ingress", other: []any{tree{"ports": []any{tree{"port": 81}}}}, generation: true},
	"PodDisruptionBudget": {version: "policy/v1", plural: "poddisruptionbudgets", object: tree{"spec": tree{
		"maxUnavailable": "50%", "selector": tree{"matchLabels": tree{"app": "x"}},
	}}, field: "spec.maxUnavailable", other: 1, generation: true},
	"HorizontalPodAutoscaler": {version: "autoscaling/v2", plural: "horizontalpodautoscalers", object: tree{"spec": tree{
		"scaleTargetRef": tree{"apiVersion": "apps/v1", "kind": "Deployment", "name": "absent"}, "maxReplicas": 5,
	}}, field: "spec.maxReplicas", other: 9, required: true, busy: true},
	"Role": {version: "rbac.authorization.k8s.io/v1", plural: "roles", object: tree{
		"rules": []any{tree{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}}},
	}, field: "rules", other: []any{tree{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": []any{"get"}}}},
	"RoleBinding": {version: "rbac.authorization.k8s.io/v1", plural: "rolebindings", object: tree{
		"roleRef":  tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"},
		"subjects": []any{tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}},
	}, field: "subjects", other: []any{tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}}},
	"Lease": {version: "coordination.k8s.io/v1", plural: "leases", object: tree{"spec": tree{"holderIdentity": "me", "leaseDurationSeconds": 15}}, field: "spec.holderIdentity", other: "you"},
}

// editor is another client that edits the child of the main parent.
type editor struct {
	*keeper
	edited
	kind   string
	client *http.Client
	child  *kopftest.Object
	value  any // value of the field as the operator has applied it
}

// keepEdited runs an operator with the child of a main parent, and the child of another parent to probe.
func keepEdited(t *testing.T, kind string, e edited, drift kopf.DriftPolicy) *editor {
	t.Helper()
	own := owning(e.version + " " + e.plural)
	own[0].Drift = drift
	k := keep(t, tree{}, own, func(*kopf.Pass[kopf.Object]) []tree {
		made := object.With(e.object, object.Path{"metadata"}, tree{"labels": tree{"team": "a"}})
		made["apiVersion"], made["kind"] = e.version, kind
		return []tree{made}
	})
	k.WaitHandled(k.Create(k.own.of(tree{"metadata": tree{"name": "probe"}})))
	d := edit(k, e, kind)
	d.value = d.child.Get().Get(kopf.Path(e.field))
	return d
}

// edit returns an editor of the child of the main parent.
func edit(k *keeper, e edited, kind string) *editor {
	k.t.Helper()
	client, err := rest.HTTPClientFor(k.Config)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(client.Transport) })
	return &editor{keeper: k, edited: e, kind: kind, client: client, child: k.Object(e.plural+groupSuffix(e.version), "main")}
}

func groupSuffix(version string) string {
	group, _, ok := strings.Cut(version, "/")
	if !ok {
		return ""
	}
	return "." + group
}

// request sends a request about the child under the name of another manager, and returns the answer.
func (d *editor) request(method, subresource, contentType string, body any) []byte {
	d.t.Helper()
	got, status := d.send(method, subresource, contentType, body)
	if status >= 300 {
		d.t.Fatalf("%s %s%s: %d, %s", method, d.plural, subresource, status, got)
	}
	return got
}

// send is like request, and returns the status of any answer.
func (d *editor) send(method, subresource, contentType string, body any) ([]byte, int) {
	d.t.Helper()
	api := "apis/" + d.version
	if !strings.Contains(d.version, "/") {
		api = "api/" + d.version
	}
	url := fmt.Sprintf("%s/%s/namespaces/%s/%s/main%s?fieldManager=other", d.Config.Host, api, d.Namespace, d.plural, subresource)
	if contentType == "application/apply-patch+yaml" {
		url += "&force=true"
	}
	text, err := json.Marshal(body)
	if err != nil {
		d.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(d.t.Context(), method, url, bytes.NewReader(text))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	res, err := d.client.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatalf("%s: %s: %v", url, res.Status, err)
	}
	return got, res.StatusCode
}

// read returns the child.
func (d *editor) read() tree {
	d.t.Helper()
	var o tree
	if err := json.Unmarshal(d.request(http.MethodGet, "", "application/json", nil), &o); err != nil {
		d.t.Fatal(err)
	}
	return o
}

func (d *editor) path() object.Path {
	var path object.Path
	for name := range strings.SplitSeq(d.field, ".") {
		path = append(path, name)
	}
	return path
}

func (d *editor) pointer() string { return "/" + strings.ReplaceAll(d.field, ".", "/") }

// put replaces the field of the child in an Update.
func (d *editor) put(value any) {
	d.t.Helper()
	d.update(func(o tree) tree {
		o = object.With(o, d.path(), value)
		delete(o["metadata"].(tree), "managedFields")
		return o
	})
}

// update replaces the child by an edited version, and returns the version before. It edits the newest version again if
// a controller has changed the child since, as clients do.
func (d *editor) update(edit func(o tree) tree) (before tree) {
	d.t.Helper()
	for {
		before = d.read()
		got, status := d.send(http.MethodPut, "", "application/json", edit(before))
		switch {
		case status < 300:
			return before
		case status != http.StatusConflict:
			d.t.Fatalf("PUT %s: %d, %s", d.plural, status, got)
		}
	}
}

func (d *editor) merge(changes tree) {
	d.t.Helper()
	d.request(http.MethodPatch, "", "application/merge-patch+json", changes)
}

func (d *editor) jsonPatch(op, pointer string, value any) {
	d.t.Helper()
	d.request(http.MethodPatch, "", "application/json-patch+json", []any{tree{"op": op, "path": pointer, "value": value}})
}

func (d *editor) apply(fields tree) {
	d.t.Helper()
	o := object.With(fields, object.Path{"metadata"}, tree{"name": "main"})
	o["apiVersion"], o["kind"] = d.version, d.kind
	d.request(http.MethodPatch, "", "application/apply-patch+yaml", o)
}

// set returns an object with the field alone.
func (d *editor) set(value any) tree { return object.With(tree{}, d.path(), value) }

// repaired reports whether the child is as it was applied.
func (d *editor) repaired(o *kopf.Object) bool {
	labels := kopf.GetOr(o, "metadata.labels", tree{})
	refs := kopf.GetOr(o, "metadata.ownerReferences", []any{})
	return o.Get("metadata.deletionTimestamp") == nil && asJSON(o.Get(kopf.Path(d.field))) == asJSON(d.value) && labels["team"] == "a" && len(refs) == 1 &&
		labels["kopf.dev/owned-by"] != nil && labels["kopf.dev/owner-uid"] != nil
}
