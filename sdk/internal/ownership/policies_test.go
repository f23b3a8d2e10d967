package ownership

import (
	"encoding/json"
	"net/http"
	"testing"
)

// TestPolicy_RewrittenValueStaysOurs has a case in which the claim does not hold: a policy that rewrites what we apply leaves
// our entry as it is. An operator that compared values would apply for ever.
func TestPolicy_RewrittenValueStaysOurs(t *testing.T) {
	s := newServer(t)
	name := s.cluster.Namespace
	const group = "admissionregistration.k8s.io/v1"
	for _, object := range []tree{
		{
			"apiVersion": group, "kind": "MutatingAdmissionPolicy", "metadata": tree{"name": name},
			"spec": tree{
				"failurePolicy": "Fail", "reinvocationPolicy": "Never",
				"matchConstraints": tree{"resourceRules": []any{tree{
					"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"configmaps"},
				}}},
				"mutations": []any{tree{"patchType": "JSONPatch", "jsonPatch": tree{
					"expression": `[JSONPatch{op: "add", path: "/data/a", value: "policy"}]`,
				}}},
			},
		},
		{
			"apiVersion": group, "kind": "MutatingAdmissionPolicyBinding", "metadata": tree{"name": name},
			"spec": tree{"policyName": name, "matchResources": tree{
				"namespaceSelector": tree{"matchLabels": tree{"kubernetes.io/metadata.name": name}},
			}},
		},
	} {
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		s.cluster.Apply(string(text))
	}
	const collection = "/api/v1/namespaces/NAMESPACE/configmaps"
	object := named("v1", "ConfigMap", "settings", tree{"data": tree{"a": "1", "b": "2"}})
	_, path := form{collection: collection, object: object}.paths(name)
	s.cluster.WaitUntil("the policy is in force", func() bool {
		return text(s.apply(path, object, "dryRun", "All").body, "data", "a") == "policy"
	})

	a := s.applyNew(collection, object)
	if got := text(s.get(a.path), "data", "a"); got != "policy" {
		t.Fatalf("the value is %s", got)
	}
	a.merge(tree{"data": tree{"other": "1"}})
	if got := a.lost(answer{body: a.get(a.path)}); got != nil {
		t.Errorf("our entry has lost %v", got)
	}
	first := text(a.get(a.path), "metadata", "resourceVersion")
	for range 100 {
		if got := a.again(); got.code != http.StatusOK || got.version() != first {
			t.Fatalf("apply: %d, version %s of %s", got.code, got.version(), first)
		}
	}
}
