package main

import (
	"slices"
	"strings"
	"testing"
)

// inCheckout makes a kopf process use the SDK of this checkout.
func inCheckout(env []string) []string { return append(env, "GOWORK=", "GOPROXY=") }

func TestManifests_OfExample(t *testing.T) {
	cmd, stdout, stderr := command(t, "testdata", "manifests", example, "--name=minimal", "--image=registry.example.com/op:v1")
	cmd.Env = inCheckout(cmd.Env)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	for _, want := range []string{
		"kind: ServiceAccount\nmetadata:\n  name: minimal\n  namespace: default\n",
		"  # The handled objects: create (01-minimal/minimal.go:13).\n  - apiGroups: [kopf.dev]\n    resources: [kopfexamples]\n    verbs: [list, watch, patch]\n",
		"    resources: [kopfexamples/status]\n    verbs: [patch]\n",
		`image: "registry.example.com/op:v1"`,
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in %s", want, stdout)
		}
	}
	if stderr.Len() > 0 {
		t.Errorf("it complains: %s", stderr)
	}
}

func TestManifests_UnknownResourceNamesHandlerAndFlag(t *testing.T) {
	cmd, stdout, stderr := command(t, "testdata", "manifests", "../../../examples/99-all-at-once", "--name=all")
	cmd.Env = inCheckout(cmd.Env)
	if got := code(t, cmd.Run()); got != 1 || stdout.Len() > 0 {
		t.Fatalf("%d, %s", got, stdout)
	}
	if text := stderr.String(); !strings.Contains(text, `"kopfexamples" is not a resource of Kubernetes`) || !strings.Contains(text, "create1 (99-all-at-once/all.go:") || !strings.Contains(text, "--crd") {
		t.Errorf("it says %s", text)
	}
	cmd, stdout, stderr = command(t, "testdata", "manifests", "../../../examples/99-all-at-once", "--name=all", "--crd=../../../examples/crd.yaml", "-o", "json", "-n", "one")
	cmd.Env = inCheckout(cmd.Env)
	if got := code(t, cmd.Run()); got != 0 || !strings.Contains(stdout.String(), `"kind": "Role"`) || strings.Contains(stdout.String(), "ClusterRole") {
		t.Errorf("%d, %s%s", got, stdout, stderr)
	}
}

func TestManifests_ProgramWithoutOperatorFails(t *testing.T) {
	dir := operatorTree(t, `fmt.Println("no operator here")`)
	cmd, _, stderr := command(t, dir, "manifests", ".")
	if got := code(t, cmd.Run()); got != 1 || !strings.Contains(stderr.String(), "must call kopf.Main") || !strings.Contains(stderr.String(), "no operator here") {
		t.Errorf("%d, %s", got, stderr)
	}
}

func TestManifests_OfAdmissionReplicasAndPeering(t *testing.T) {
	args := []string{"manifests", "./guarding", "--image=op:v1", "--leader-elect", "--lease=guards", "--peering=mine", "--webhook-cert-secret=guards"}
	cmd, stdout, stderr := command(t, "testdata", args...)
	cmd.Env = inCheckout(cmd.Env)
	if got := code(t, cmd.Run()); got != 0 || stderr.Len() > 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	for _, want := range []string{
		"  # Webhooks, in their configuration: check (guarding/guarding.go:16).\n  - apiGroups: [admissionregistration.k8s.io]\n" +
			"    resources: [validatingwebhookconfigurations]\n    resourceNames: [kopf.kopf.dev]\n    verbs: [patch]\n",
		"    resources: [leases]\n    resourceNames: [guards]\n    verbs: [get, update]\n",
		"    resources: [clusterkopfpeerings]\n    resourceNames: [mine]\n    verbs: [patch]\n",
		"kind: Service\n", "replicas: 2\n", "            - --leader-elect=true\n            - --lease=guards\n            - --peering=mine\n",
		`            - "--webhook-service=$(POD_NAMESPACE)/$(SERVICE_ACCOUNT)"`, "secretName: guards\n",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in %s", want, stdout)
		}
	}
	if strings.Contains(stdout.String(), "mutatingwebhook") || strings.Contains(stdout.String(), "Recreate") {
		t.Errorf("there is too much in %s", stdout)
	}
	cmd, _, stderr = command(t, "testdata", args[:len(args)-1]...)
	cmd.Env = inCheckout(cmd.Env)
	if got := code(t, cmd.Run()); got != 1 || !strings.Contains(stderr.String(), "name a Secret with a certificate for kopf.default.svc: --webhook-cert-secret") {
		t.Errorf("%d, %s", got, stderr)
	}
}

func TestManifests_UninstallPrintsJobAndItsRoles(t *testing.T) {
	cmd, stdout, stderr := command(t, "testdata", "manifests", "./guarding", "--image=op:v1", "--leader-elect", "--lease=guards", "--webhook-cert-secret=guards", "--uninstall", "--finalizer=example.com/x", "--deployment=team-guarding")
	cmd.Env = inCheckout(cmd.Env)
	if got := code(t, cmd.Run()); got != 0 || stderr.Len() > 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	for _, want := range []string{
		"kind: Job\nmetadata:\n  name: kopf-uninstall\n", "helm.sh/hook: pre-delete\n", "serviceAccountName: kopf-uninstall\n",
		"    resources: [deployments/scale]\n    resourceNames: [team-guarding]\n    verbs: [get, patch]\n",
		"    resources: [validatingwebhookconfigurations]\n    resourceNames: [kopf.kopf.dev]\n    verbs: [get, delete]\n",
		"    resources: [leases]\n    resourceNames: [guards]\n    verbs: [get, delete]\n",
		"            - uninstall\n            - --all-namespaces\n            - --leader-elect=true\n            - --lease=guards\n            - --standalone\n" +
			"            - --webhook-managed=kopf.kopf.dev\n            - --finalizer=example.com/x\n            - \"--deployment=$(POD_NAMESPACE)/team-guarding\"\n",
	} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is missing in %s", want, stdout)
		}
	}
	if strings.Contains(stdout.String(), "kind: Deployment") || strings.Contains(stdout.String(), "watch") {
		t.Errorf("there is too much in %s", stdout)
	}
}

func TestManifests_PeeringFormatsAndParts(t *testing.T) {
	cmd, stdout, stderr := command(t, t.TempDir(), "manifests", "peering", "--only=objects", "-n", "one", "--name=mine", "-o", "json")
	if got := code(t, cmd.Run()); got != 0 || strings.Count(stdout.String(), `"kind"`) != 2 || !strings.Contains(stdout.String(), `"kind": "KopfPeering"`) {
		t.Errorf("%d, %s%s", got, stdout, stderr)
	}
	cmd, stdout, stderr = command(t, t.TempDir(), "manifests", "peering", "--only=definitions")
	if got := code(t, cmd.Run()); got != 0 || strings.Count(stdout.String(), "kind: CustomResourceDefinition\n") != 2 || strings.Contains(stdout.String(), "\nkind: ClusterKopfPeering\n") {
		t.Errorf("%d, %s%s", got, stdout, stderr)
	}
}

func TestManifests_InvalidFlags(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-o", "xml"}, "use yaml or json"}, {[]string{"-A", "-n", "one"}, "one or the other"}, {[]string{"--crd=none.yaml"}, "none.yaml"},
		{[]string{"-n", " "}, "--namespace is empty"}, {[]string{"--image=a b"}, "--image: the image"}, {[]string{"--standalone", "--peering=x"}, "one or the other"},
		{[]string{"--uninstall"}, "--uninstall needs --image"}, {[]string{"--uninstall=later", "--image=op"}, "want now or dry-run"},
		{[]string{"--finalizer=example.com/x"}, "--finalizer needs --uninstall"}, {[]string{"--deployment=team-op"}, "--deployment needs --uninstall"}, {[]string{"--replicas=0"}, "want at least 1"}, {[]string{"--replicas=2"}, "add --lease"}, {[]string{"--shards=2"}, "need --lease"},
	} {
		cmd, _, stderr := command(t, t.TempDir(), append([]string{"manifests", "."}, test.args...)...)
		if got := code(t, cmd.Run()); got != exitUsage || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%q: %d, %s", test.args, got, stderr)
		}
	}
	for _, args := range [][]string{{"--name=a b"}, {"-n", "app-*"}, {"-o", "xml"}, {"--only=x"}} {
		cmd, _, stderr := command(t, t.TempDir(), append([]string{"manifests", "peering"}, args...)...)
		if got := code(t, cmd.Run()); got != exitUsage {
			t.Errorf("peering %q: %d, %s", args, got, stderr)
		}
	}
}

func TestModuleName_IsDNSLabel(t *testing.T) {
	for module, want := range map[string]string{
		"example.com/team/claims": "claims", "example.com/team/claims/v2": "claims", "example.com/My_Op.v2": "my-op-v2", "v2": "v2", "---": "operator",
		"example.com/" + strings.Repeat("long", 30): strings.Repeat("long", 13),
	} {
		if got := moduleName(module); got != want {
			t.Errorf("%s: %s, want %s", module, got, want)
		}
	}
}

func TestManifests_ModuleOfSeveralOperatorsNeedsName(t *testing.T) {
	for _, args := range [][]string{{"manifests", example}, {"manifests", example, "--uninstall", "--image=op:v1"}} {
		cmd, stdout, stderr := command(t, "testdata", args...)
		cmd.Env = inCheckout(cmd.Env)
		if got := code(t, cmd.Run()); got != exitUsage || stdout.Len() > 0 ||
			!strings.Contains(stderr.String(), "the module github.com/kopf-dev/kopf/examples has several operators, also in ./02-children, ./03-exceptions") ||
			!strings.Contains(stderr.String(), "give this one a name of its own with --name") {
			t.Errorf("%q: %d, %s%s", args, got, stdout, stderr)
		}
	}
}

func TestManifests_NamedNamespacesAreNotScanned(t *testing.T) {
	for _, test := range []struct {
		scope string
		want  bool
	}{{"--namespace=one", true}, {"--namespace=app-*", false}, {"--all-namespaces", false}} {
		cmd, stdout, stderr := command(t, "testdata", "manifests", "./guarding", "--image=op:v1", "--inspect=tcp:127.0.0.1:7070", test.scope)
		cmd.Env = inCheckout(cmd.Env)
		if got := code(t, cmd.Run()); got != 0 || strings.Contains(stdout.String(), "            - --no-scanning\n") != test.want {
			t.Errorf("%s: %d, %s%s", test.scope, got, stdout, stderr)
		}
		if want := "    resources: [events]\n    verbs: [list]\n"; !strings.Contains(stdout.String(), want) || !strings.Contains(stdout.String(), `- "--inspect=tcp:127.0.0.1:7070"`) {
			t.Errorf("%s: with an inspector, %q is missing in %s", test.scope, want, stdout)
		}
	}
}

// TestE2E_AsDeployedInNamespaceAsksForNothingElse runs an operator of one namespace, whose log has no warnings of
// missing permissions.
func TestE2E_AsDeployedInNamespaceAsksForNothingElse(t *testing.T) {
	cmd, stdout, stderr := withCluster(t, shortDir(t), "run", "./failing", "-n", "default", "--apply", "guarding/object.yaml", "--until=settled", "--as-deployed", "--debug")
	cmd.Args = slices.DeleteFunc(cmd.Args, func(arg string) bool { return arg == "-A" })
	if got := code(t, cmd.Run()); got != 1 { // no handler is for the object
		t.Errorf("%d, %s%s", got, stdout, stderr)
	}
	if all := stdout.String() + stderr.String(); strings.Contains(all, "forbidden") || strings.Contains(all, "customresourcedefinitions?") || strings.Contains(all, "/api/v1/namespaces?") {
		t.Errorf("it asks for more than its roles permit:\n%s", all)
	}
}

func TestE2E_AsDeployedTellsMissingPermission(t *testing.T) {
	cmd, stdout, stderr := withCluster(t, shortDir(t), "run", "./greedy", "--apply", "greedy/object.yaml", "--until=settled", "-q", "--as-deployed")
	if got := code(t, cmd.Run()); got != 1 {
		t.Errorf("%d, %s", got, stdout)
	}
	want := `the deployed operator must not list secrets in the namespace default: its roles have no rule for that; add this option to the handler that sends the request: kopf.Uses(kopf.Resource("v1", "secrets"), "list")`
	report := []string{
		"kopf: add these options to the handlers that send the requests, for kopf manifests to write the rules:\n\n",
		"    kopf.Uses(kopf.Resource(\"v1\", \"pods\"), \"create\")\n    kopf.Uses(kopf.Resource(\"v1\", \"secrets\"), \"list\")\n",
		"    # in the namespace default\n    - apiGroups: [\"\"]\n      resources: [secrets]\n      verbs: [list]\n",
	}
	for _, want := range append(report, want) {
		if strings.Count(stderr.String(), want) != 1 {
			t.Errorf("%q is missing in %s", want, stderr)
		}
	}
}

func TestE2E_AsDeployedPermitsAdmissionAndReplicas(t *testing.T) {
	for _, sub := range []string{"run", "dev"} {
		for _, flags := range [][]string{{"--leader-elect", "--lease=guards"}, {"--shards=2", "--lease=guards"}} {
			args := append([]string{sub, "./guarding", "--apply", "guarding/object.yaml", "--until=settled", "--as-deployed"}, flags...)
			cmd, stdout, stderr := withCluster(t, shortDir(t), args...)
			if got := code(t, cmd.Run()); got != 0 || strings.Contains(stdout.String()+stderr.String(), "must not") {
				t.Errorf("%q: %d, %s%s", args, got, stdout, stderr)
			}
		}
	}
}

func TestE2E_DevAsDeployedTellsMissingPermission(t *testing.T) {
	cmd, stdout, stderr := withCluster(t, shortDir(t), "dev", "./greedy", "--apply", "greedy/object.yaml", "--until=settled", "--as-deployed")
	if got := code(t, cmd.Run()); got != 1 {
		t.Errorf("%d, %s%s", got, stdout, stderr)
	}
	if want := `the deployed operator must not list secrets in the namespace default: its roles have no rule for that`; !strings.Contains(stdout.String(), want) {
		t.Errorf("it says %s%s", stdout, stderr)
	}
}
