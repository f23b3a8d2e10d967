package proxy

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/copy"
)

const convertedDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cars.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: cars, singular: car, kind: Car, listKind: CarList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://localhost:9/convert"}}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
status:
  storedVersions: [v1]
  acceptedNames: {plural: cars, singular: car, kind: Car, listKind: CarList}
  conditions:
  - {type: NamesAccepted, status: "True", reason: NoConflicts, message: none, lastTransitionTime: "2020-01-01T00:00:00Z"}
  - {type: Established, status: "True", reason: InitialNamesAccepted, message: done, lastTransitionTime: "2020-01-01T00:00:00Z"}
`

// TestProxy_RefusesConversions asks for two versions of a resource that the cluster converts with a webhook. The
// control plane of the copy cannot call the webhook.
func TestProxy_RefusesConversions(t *testing.T) {
	c := theSource(t, "convert")
	cars := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "cars"}
	load(t, c, copy.Definitions, convertedDefinition)
	load(t, c, cars, `{apiVersion: example.com/v1, kind: Car, metadata: {name: a, namespace: convert}}`)
	p := try(t, copyOf(t, c, "", copy.Options{}), Options{})
	get(t, p.operator, cars, "convert", "a")
	_, err := p.operator.Resource(cars.GroupResource().WithVersion("v2")).Namespace("convert").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "a webhook converts it") {
		t.Errorf("the other version ends with %v", err)
	}
	if !untried(p, cars.Resource, "a webhook converts it") {
		t.Errorf("the refusal is not among %+v", p.Untried())
	}
}

func untried(p *trial, resource, reason string) bool {
	return slices.ContainsFunc(p.Untried(), func(u Untried) bool { return u.Resource.Resource == resource && strings.Contains(u.Reason, reason) })
}

// TestProxy_RefusesExtensions asks for a resource of an extension API server. "Not found" would be a lie.
func TestProxy_RefusesExtensions(t *testing.T) {
	c := theSource(t, "extension")
	load(t, c, services, `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1beta1.metrics.k8s.io},
		spec: {group: metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {name: metrics, namespace: extension}}}`)
	p := try(t, copyOf(t, c, "", copy.Options{}), Options{})
	metrics := schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "nodes"}
	if _, err := p.operator.Resource(metrics).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the resource ends with %v, want a refusal", err)
	}
	if !untried(p, "nodes", "an extension API server serves it") {
		t.Errorf("the refusal is not among %+v", p.Untried())
	}
}

// TestProxy_PoliciesDecideAndWebhooksDoNot has a policy that denies ConfigMaps with a name, and a webhook that fails for all of them.
func TestProxy_PoliciesDecideAndWebhooksDoNot(t *testing.T) {
	c := theSource(t, "policy")
	admission := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	load(t, c, admission.WithResource("validatingadmissionpolicies"), `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-secrets-in-names}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.name != 'denied'", message: not this name}]
`)
	load(t, c, admission.WithResource("validatingadmissionpolicybindings"), `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-secrets-in-names}
spec: {policyName: no-secrets-in-names, validationActions: [Deny]}
`)
	hooks := admission.WithResource("validatingwebhookconfigurations")
	load(t, c, hooks, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: fails}
webhooks:
- name: fails.example.com
  clientConfig: {url: "https://localhost:9/validate"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
`)
	p := try(t, copyOf(t, c, "", copy.Options{}), Options{})
	const path = "/api/v1/namespaces/policy/configmaps"
	const manifest = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s"}}`
	if code := send(t, p, "POST", path, "application/json", "", fmt.Sprintf(manifest, "allowed")); code != http.StatusCreated {
		t.Errorf("creating an object ends with %d, want none of the cluster's webhooks", code)
	}
	// The server notices policies within a second.
	err := poll(t.Context(), func(context.Context) (bool, error) {
		return send(t, p, "POST", path+"?dryRun=All", "application/json", "", fmt.Sprintf(manifest, "denied")) == http.StatusUnprocessableEntity, nil
	})
	if err != nil {
		t.Errorf("the policy does not decide: %v", err)
	}
	list, err := p.operator.Resource(hooks).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("the copy has the webhooks %v: %v", list, err)
	}
}

// TestProxy_CopyConnectsToNothing creates what makes an API server connect to other hosts: the operator has no other way out of its box.
func TestProxy_CopyConnectsToNothing(t *testing.T) {
	outside, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	connected := make(chan net.Addr, 100)
	go func() {
		defer close(connected)
		for {
			conn, err := outside.Accept()
			if err != nil {
				return
			}
			connected <- conn.RemoteAddr()
			_ = conn.Close()
		}
	}()
	p := try(t, copyOf(t, theSource(t, "isolated"), "", copy.Options{}), Options{})
	create := func(path, manifest string) int {
		return send(t, p, "POST", path, "application/yaml", "", strings.ReplaceAll(manifest, "ADDRESS", outside.Addr().String()))
	}
	for path, manifest := range map[string]string{
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: out}
webhooks:
- name: out.example.com
  clientConfig: {url: "https://ADDRESS/validate"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
`,
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions": strings.ReplaceAll(strings.ReplaceAll(convertedDefinition, "localhost:9", "ADDRESS"), "car", "van"),
		"/api/v1/nodes": "{apiVersion: v1, kind: Node, metadata: {name: out}}",
	} {
		if code := create(path, strings.ReplaceAll(manifest, "Car", "Van")); code != http.StatusCreated {
			t.Fatalf("creating an object at %s ends with %d", path, code)
		}
	}
	vans := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "vans"}
	err = poll(t.Context(), func(ctx context.Context) (bool, error) {
		served, err := p.loader.control.served(ctx)
		return served[vans], err
	})
	if err != nil {
		t.Fatal(err)
	}
	if code := create("/apis/example.com/v1/namespaces/isolated/vans", "{apiVersion: example.com/v1, kind: Van, metadata: {name: a}}"); code != http.StatusCreated {
		t.Errorf("creating an object ends with %d", code)
	}
	if _, err := p.operator.Resource(vans.GroupResource().WithVersion("v2")).Namespace("isolated").Get(t.Context(), "a", metav1.GetOptions{}); err == nil {
		t.Error("the object is converted")
	}
	if code := create("/api/v1/namespaces/isolated/configmaps", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"); code != http.StatusCreated {
		t.Errorf("creating an object that a webhook would see ends with %d", code)
	}
	for _, path := range []string{"/api/v1/nodes/out/proxy/", "/api/v1/nodes/out/proxy//pods", "/api/v1//nodes/out/proxy/pods", "/api/v1/nodes/out/proxy/%2e%2e/pods"} {
		if code := send(t, p, "GET", path, "", "", ""); code != http.StatusForbidden {
			t.Errorf("GET %s ends with %d, want a refusal", path, code)
		}
	}
	// The server itself refuses to connect, too.
	code, _, err := p.loader.control.get(t.Context(), "/api/v1/nodes/http:out:"+portOf(outside)+"/proxy/", "", "application/json")
	if err != nil || code == http.StatusOK {
		t.Errorf("the server answers for a node with %d: %v", code, err)
	}
	if err := outside.Close(); err != nil {
		t.Fatal(err)
	}
	for from := range connected {
		t.Errorf("the copy connects to another server, from %s", from)
	}
}

func portOf(l net.Listener) string {
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return port
}

// TestProxy_CompletesNewObjects creates a Pod with a priority class and a service account, which the server looks for.
func TestProxy_CompletesNewObjects(t *testing.T) {
	c := theSource(t, "needs")
	load(t, c, schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, `{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot, namespace: needs}}`)
	load(t, c, schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
		`{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: urgent}, value: 77}`)
	load(t, c, schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}, `
apiVersion: v1
kind: LimitRange
metadata: {name: small, namespace: needs}
spec: {limits: [{type: Container, default: {memory: 7Mi}, defaultRequest: {memory: 7Mi}}]}
`)
	p := try(t, copyOf(t, c, "", copy.Options{}), Options{})
	code := send(t, p, "POST", "/api/v1/namespaces/needs/pods", "application/json", "create u-1 0",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"serviceAccountName":"robot","priorityClassName":"urgent","containers":[{"name":"c","image":"i"}]}}`)
	if code != http.StatusCreated {
		t.Fatalf("creating a Pod ends with %d: %+v", code, p.Requests()[0].Status)
	}
	after := p.Requests()[0].After
	if got := field(after, "spec", "priority"); got != int64(77) {
		t.Errorf("the Pod has the priority %v, want the one of the copied class", got)
	}
	containers, _ := field(after, "spec", "containers").([]any)
	if got := field(containers[0].(map[string]any), "resources", "limits", "memory"); got != "7Mi" {
		t.Errorf("the Pod has the limit %v, want the one of the copied range", got)
	}
}
