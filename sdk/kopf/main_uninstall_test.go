package kopf_test

import (
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
)

var configMaps = &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}

func TestMain_UninstallTellsThenRemoves(t *testing.T) {
	config, client := kubeconfig(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	marker := map[string]any{"metadata": map[string]any{"name": "left", "finalizers": []any{"kopf.zalando.org/KopfFinalizerMarker"}}}
	testcluster.Create(t, client, configMaps, namespace, marker)
	if err := testcluster.Delete(t.Context(), client, configMaps, namespace, "left"); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) (string, string) {
		t.Helper()
		p := start(t, "leaving", nil, append([]string{"uninstall", "--kubeconfig=" + config}, args...)...)
		if code, _ := p.end(); code != want {
			t.Fatalf("%q: %d, %s", args, code, p.said(&p.stderr))
		}
		return p.said(&p.stdout), p.said(&p.stderr)
	}
	const deletes = " (its deletion waits only for finalizers)\n"
	object := "configmaps/left in " + namespace
	stdout, stderr := run(0, "-n", namespace, "--dry-run")
	if stdout != object+deletes || !strings.Contains(stderr, "operator uninstall: nothing was changed; run it without --dry-run") {
		t.Errorf("dry run: %s%s", stdout, stderr)
	}
	if !strings.Contains(stderr, "operator uninstall: the cluster does not have the resource unknownthings") {
		t.Errorf("it does not name the unknown resource: %s", stderr)
	}
	if stdout, _ := run(0, "-n", namespace, "--finalizer=example.com/other"); stdout != "" {
		t.Errorf("with another finalizer: %s", stdout)
	}
	if stdout, stderr := run(0, "-n", namespace); stdout != object+": released"+deletes || !strings.HasSuffix(stderr, "operator uninstall: nothing of the operator is left\n") {
		t.Errorf("%s%s", stdout, stderr)
	}
	if _, err := client.Get(t.Context(), configMaps, namespace, "left"); kube.Classify(err) != kube.NotFound {
		t.Errorf("the object: %v", err)
	}
	// The flags of the Deployment are accepted.
	if stdout, _ := run(0, "-n", namespace, "--log-format=json", "--liveness=http://0.0.0.0:8080/healthz", "--webhook-listen=:9443", "--webhook-service=a/b", "--priority=3"); stdout != "" {
		t.Errorf("the second time: %s", stdout)
	}
}

func TestMain_UninstallMistakes(t *testing.T) {
	for _, test := range []struct {
		arg  string
		code int
		want string
	}{
		{"--deployment=x", 2, "operator uninstall: --deployment=x: want NAMESPACE/NAME\nSee: operator uninstall --help\n"},
		{"--deployment=/x", 2, "operator uninstall: --deployment=/x: want NAMESPACE/NAME\nSee: operator uninstall --help\n"},
		{"--stop-timeout=0s", 2, "operator uninstall: --stop-timeout: must be more than 0\nSee: operator uninstall --help\n"},
		{"now", 2, "operator uninstall: unexpected argument \"now\": an operator takes only flags (see --help)\nSee: operator uninstall --help\n"},
		{"--kubeconfig=/no/where", 1, "operator uninstall: cannot log in to the cluster: the login handler \"login_with_kubeconfig\" has failed: read kubeconfig: stat /no/where: no such file or directory\n"},
	} {
		p := start(t, "leaving", nil, "uninstall", test.arg)
		if code, _ := p.end(); code != test.code || !strings.HasSuffix(p.said(&p.stderr), test.want) {
			t.Errorf("%s: %d, %s", test.arg, code, p.said(&p.stderr))
		}
	}
	p := start(t, "leaving", nil, "uninstall", "--help")
	if code, _ := p.end(); code != 0 || !strings.Contains(p.said(&p.stdout), "--dry-run") || strings.Contains(p.said(&p.stdout), "--priority") {
		t.Errorf("%d, %s%s", code, p.said(&p.stdout), p.said(&p.stderr))
	}
}
