package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// inCheckout makes a kopf process use the SDK of this checkout.
func inCheckout(env []string) []string { return append(env, "GOWORK=", "GOPROXY=") }

func TestManifests_OfExample(t *testing.T) {
	cmd, stdout, stderr := command(t, "testdata", "manifests", example, "--image=registry.example.com/op:v1")
	cmd.Env = inCheckout(cmd.Env)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	for _, want := range []string{
		"kind: ServiceAccount\nmetadata:\n  name: \"01-minimal\"\n  namespace: default\n",
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
	cmd, stdout, stderr := command(t, "testdata", "manifests", "../../../examples/99-all-at-once")
	cmd.Env = inCheckout(cmd.Env)
	if got := code(t, cmd.Run()); got != 1 || stdout.Len() > 0 {
		t.Fatalf("%d, %s", got, stdout)
	}
	if text := stderr.String(); !strings.Contains(text, `"kopfexamples" is not a resource of Kubernetes`) || !strings.Contains(text, "create1 (99-all-at-once/all.go:") || !strings.Contains(text, "--crd") {
		t.Errorf("it says %s", text)
	}
	cmd, stdout, stderr = command(t, "testdata", "manifests", "../../../examples/99-all-at-once", "--crd=../../../examples/crd.yaml", "-o", "json", "-n", "one")
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
			"    resources: [validatingwebhookconfigurations]\n    resourceNames: [guarding.kopf.dev]\n    verbs: [patch]\n",
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
	if got := code(t, cmd.Run()); got != 1 || !strings.Contains(stderr.String(), "name a Secret with a certificate for guarding.default.svc: --webhook-cert-secret") {
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
		"kind: Job\nmetadata:\n  name: guarding-uninstall\n", "helm.sh/hook: pre-delete\n", "serviceAccountName: guarding-uninstall\n",
		"    resources: [deployments/scale]\n    resourceNames: [team-guarding]\n    verbs: [get, patch]\n",
		"    resources: [validatingwebhookconfigurations]\n    resourceNames: [guarding.kopf.dev]\n    verbs: [get, delete]\n",
		"    resources: [leases]\n    resourceNames: [guards]\n    verbs: [get, delete]\n",
		"            - uninstall\n            - --all-namespaces\n            - --leader-elect=true\n            - --lease=guards\n            - --standalone\n" +
			"            - --webhook-managed=guarding.kopf.dev\n            - --finalizer=example.com/x\n            - \"--deployment=$(POD_NAMESPACE)/team-guarding\"\n",
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

func TestNameOfOperator_IsDNSLabel(t *testing.T) {
	for pattern, want := range map[string]string{
		"./handlers": "handlers", ".": "here", "./x/...": "x", "./My_Op.v2": "my-op-v2", "example.com/team/op": "op", "./---": "operator",
		"./" + strings.Repeat("long", 30): strings.Repeat("long", 13),
	} {
		if got := nameOfOperator("", filepath.Join(string(os.PathSeparator), "here"), []string{pattern}); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

func TestE2E_AsDeployedTellsMissingPermission(t *testing.T) {
	cmd, stdout, stderr := withCluster(t, shortDir(t), "run", "./greedy", "--apply", "greedy/object.yaml", "--until=settled", "-q", "--as-deployed")
	if got := code(t, cmd.Run()); got != 1 {
		t.Errorf("%d, %s", got, stdout)
	}
	want := `the deployed operator must not list secrets in the namespace default: its roles have no rule for that; add this option to the handler that does it: kopf.Uses(kopf.Resource("v1", "secrets"), "list")`
	if !strings.Contains(stderr.String(), want) {
		t.Errorf("it says %s", stderr)
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
