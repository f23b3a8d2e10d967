package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

func TestRehandle_InvalidFlags(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{"--namespace=app-*", "want the name of a namespace"},
		{"--rate=0", "want a number of objects above 0"}, {"--rate=NaN", "want a number of objects above 0"}, {"--rate=1e9", "at most 1000"},
		{"--parallel=0", "want at least 1"}, {"--max-failures=0", "want at least 1"}, {"--hold=-1s", "not negative"},
		{"--stages=10,1", "want ascending percentages"}, {"--stages=10,10", "want ascending percentages"},
		{"--stages=0,10", "above 0 and up to 100"}, {"--stages=50,101", "above 0 and up to 100"}, {"--stages=NaN", "above 0 and up to 100"},
	} {
		cmd, _, stderr := command(t, "testdata", "rehandle", "./versioned", test.arg)
		if got := code(t, cmd.Run()); got != exitUsage || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: %d, %s", test.arg, got, stderr)
		}
	}
}

// asReader returns a kubeconfig file for a user who can read objects, and not change them.
func asReader(t *testing.T, kubeconfig string) string {
	t.Helper()
	text, err := os.ReadFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	for _, user := range config["users"].([]any) {
		user.(map[string]any)["user"].(map[string]any)["as"] = "reader"
	}
	if text, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// letRead permits the user of asReader to read config maps.
func letRead(t *testing.T, client dynamic.Interface) {
	t.Helper()
	for resource, object := range map[string]map[string]any{
		"clusterroles": {"kind": "ClusterRole", "rules": []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"get", "list"}}}},
		"clusterrolebindings": {
			"kind": "ClusterRoleBinding", "roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
			"subjects": []any{map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}},
		},
	} {
		object["apiVersion"], object["metadata"] = "rbac.authorization.k8s.io/v1", map[string]any{"name": "reader"}
		of := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}
		if _, err := client.Resource(of).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// denyPatches denies changes of a config map with the status of a missing permission, which is 403.
func denyPatches(t *testing.T, client dynamic.Interface, name string) {
	t.Helper()
	for resource, object := range map[string]map[string]any{
		"validatingadmissionpolicies": {"kind": "ValidatingAdmissionPolicy", "spec": map[string]any{
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"UPDATE"}, "resources": []any{"configmaps"}, "resourceNames": []any{name},
			}}},
			"validations": []any{map[string]any{"expression": "false", "reason": "Forbidden"}},
		}},
		"validatingadmissionpolicybindings": {"kind": "ValidatingAdmissionPolicyBinding", "spec": map[string]any{
			"policyName": "deny", "validationActions": []any{"Deny"},
		}},
	} {
		object["apiVersion"], object["metadata"] = "admissionregistration.k8s.io/v1", map[string]any{"name": "deny"}
		of := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		if _, err := client.Resource(of).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "denied", func() bool {
		_, err := client.Resource(configMaps).Namespace("default").Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"x":"y"}}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	})
}

func TestE2E_RehandleCountsMarksAndWithdraws(t *testing.T) {
	cluster, client := startCluster(t)
	objects := client.Resource(configMaps).Namespace("default")
	run := func(kubeconfig string, want int, args ...string) (string, string) {
		t.Helper()
		cmd, stdout, stderr := command(t, "testdata", append([]string{"rehandle", "./versioned", "-n", "default", "--kubeconfig=" + kubeconfig}, args...)...)
		cmd.Env = inCheckout(cmd.Env)
		if got := code(t, cmd.Run()); got != want {
			t.Fatalf("%q: %d, %s", args, got, stderr)
		}
		return stdout.String(), stderr.String()
	}
	const counts = "handler create, version 2: "
	for handler, want := range map[string]string{
		"update": `the handler "update" has no version`, "delete": `the operator has no handler "delete"; the handlers with a version are create`,
	} {
		if stdout, stderr := run(cluster.KubeconfigPath, 1, "--handler="+handler); stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("it says %s and %s", stdout, stderr)
		}
	}
	if stdout, _ := run(cluster.KubeconfigPath, 0, "--selector=handled=no", "--confirm"); stdout != counts+"0 handled by it, 0 left\n0 handled by it, 0 left\n" {
		t.Errorf("without objects, it says %s", stdout)
	}
	var version string // of the object without a mark
	for _, name := range []string{"a", "b"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
		o.SetName(name)
		o.SetLabels(map[string]string{"handled": "yes", "name": name})
		created, err := objects.Create(t.Context(), o, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if version == "" {
			version = created.GetResourceVersion()
		}
		if name == "b" { // as if the command had been killed after it marked the object
			mark := fmt.Sprintf(`{"metadata":{"annotations":{"kopf.zalando.org/rehandle-handler.create":"{\"handler\":\"create\",\"version\":\"2\",\"uid\":\"%s\"}"}}}`, created.GetUID())
			if _, err := objects.Patch(t.Context(), name, types.MergePatchType, []byte(mark), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if stdout, stderr := run(cluster.KubeconfigPath, 0, "--selector=handled"); stdout != counts+"0 handled by it, 1 left, 1 marked\n" || !strings.Contains(stderr, "nothing was changed; add --confirm") {
		t.Errorf("it says %s and %s", stdout, stderr)
	}
	if _, stderr := run(cluster.KubeconfigPath, 0, "--selector=handled", "--withdraw"); !strings.Contains(stderr, "add --confirm to remove the marks") {
		t.Errorf("it says %s", stderr)
	}
	letRead(t, client)
	if _, stderr := run(asReader(t, cluster.KubeconfigPath), 1, "--selector=handled", "--confirm"); !strings.Contains(stderr, "forbidden") || !strings.Contains(stderr, "configmaps/a in default") {
		t.Errorf("without the permission, it says %s", stderr)
	}
	if stdout, _ := run(cluster.KubeconfigPath, 0, "--selector=handled", "--withdraw", "--confirm"); stdout != counts+"0 handled by it, 1 left, 1 marked\nmarks removed from 1 object\n" {
		t.Errorf("it says %s", stdout)
	}
	denyPatches(t, client, "a")
	const denied = "configmaps/a in default: the mark is refused: "
	if stdout, stderr := run(cluster.KubeconfigPath, 1, "--selector=name=a", "--confirm"); !strings.Contains(stdout, denied) ||
		!strings.HasSuffix(stdout, "\n0 handled by it, 0 left, 1 refused\n") || !strings.Contains(stderr, "the API server refuses the mark of 1 object") {
		t.Errorf("after a denial, it says %s and %s", stdout, stderr)
	}
	for _, name := range []string{"a", "b"} {
		o, err := objects.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(o.GetAnnotations()) > 0 || name == "a" && o.GetResourceVersion() != version {
			t.Errorf("%s has the annotations %v", name, o.GetAnnotations())
		}
	}
}
