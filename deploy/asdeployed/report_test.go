package asdeployed

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestReport_CollectsAllMissingRules(t *testing.T) {
	operators := []inspect.Description{{Permissions: []inspect.Permission{
		{Group: "coordination.k8s.io", Resource: "leases", Names: []string{"op"}, Verbs: []string{"get"}, Purpose: "the operator itself: replicas"},
	}}}
	got := Report([]Denial{
		{Verb: "list", Resource: "secrets", Namespace: "two"}, {Verb: "get", Resource: "secrets", Namespace: "one"}, {Verb: "get", Resource: "secrets", Namespace: "two"},
		{Verb: "get", Path: "/metrics"}, {Verb: "patch", Group: "apps", Resource: "deployments/scale"},
		{Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Namespace: "one"}, {Verb: "create", Resource: "pods", Namespace: "one"},
	}, operators)
	want := `add these options to the handlers that send the requests, for kopf manifests to write the rules:

    kopf.Uses(kopf.Resource("v1", "pods"), "create")
    kopf.Uses(kopf.Resource("v1", "secrets"), "get", "list")
    kopf.Uses(kopf.Resource("apps", "deployments/scale"), "patch")

the missing rules:

    - nonResourceURLs: ["/metrics"]
      verbs: [get]
    # in the namespace one
    - apiGroups: [""]
      resources: [pods]
      verbs: [create]
    # in the namespaces one, two
    - apiGroups: [""]
      resources: [secrets]
      verbs: [get, list]
    # in the whole cluster
    - apiGroups: ["apps"]
      resources: [deployments/scale]
      verbs: [patch]

the deployed operator must not get leases.coordination.k8s.io in the namespace one: its roles lack a rule that kopf manifests writes for the operator itself: replicas, for the object op alone; apply the manifests again, or serve the namespace
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Report(nil, operators); got != "" {
		t.Errorf("without denials: %s", got)
	}
}
