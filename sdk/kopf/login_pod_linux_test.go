package kopf

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
)

// podVar names the variable with the folder of a service account, for the process that plays a pod.
const podVar = "KOPF_TEST_POD"

// noMounts is what that process prints if it cannot mount the folder.
const noMounts = "this machine does not let a process have mounts of its own: allow user namespaces (sysctl user.max_user_namespaces), or run the test elsewhere"

// mountedAt is the folder of the service account in a pod.
const mountedAt = "/var/run/secrets/kubernetes.io/serviceaccount"

func TestServiceAccount_PodLogsIn(t *testing.T) {
	config := testcluster.Config(t)
	client := testcluster.Client(t, kube.ClientOptions{})
	ns := testcluster.Namespace(t, client)
	accounts := &resources.Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}
	testcluster.Create(t, client, accounts, ns, map[string]any{"metadata": map[string]any{"name": "robot"}})
	answer, err := client.Do(t.Context(), kube.Request{
		Method: http.MethodPost, ContentType: "application/json",
		Path: "/api/v1/namespaces/" + ns + "/serviceaccounts/robot/token",
		Body: []byte(`{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	var request struct{ Status struct{ Token string } }
	if err := json.Unmarshal(answer, &request); err != nil {
		t.Fatal(err)
	}
	ca := config.CAData
	if len(ca) == 0 {
		if ca, err = os.ReadFile(config.CAFile); err != nil {
			t.Fatal(err)
		}
	}
	files := t.TempDir()
	for name, text := range map[string]string{"token": request.Status.Token, "ca.crt": string(ca), "namespace": ns + "\n"} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	pod := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServiceAccount_InsidePod$", "-test.v")
	pod.Env = append(os.Environ(), podVar+"="+files, "KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port())
	// Files of its own at that place need only the kernel's permission.
	pod.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := pod.CombinedOutput()
	if err != nil && len(out) == 0 || strings.Contains(string(out), noMounts) {
		t.Skipf("%s: %v\n%s", noMounts, err, out)
	}
	for _, want := range []string{"user: system:serviceaccount:" + ns + ":robot", "namespace: " + ns} {
		if err != nil || !strings.Contains(string(out), want+"\n") {
			t.Errorf("%q is not in (%v)\n%s", want, err, out)
		}
	}
}

// TestServiceAccount_InsidePod runs in the process that TestServiceAccount_PodLogsIn starts, which has
// the files of a pod.
func TestServiceAccount_InsidePod(t *testing.T) {
	files := os.Getenv(podVar)
	if files == "" {
		t.Skip("TestServiceAccount_PodLogsIn runs this one, in a process that is like a pod")
	}
	// The folder above may not exist, or not be ours.
	if err := syscall.Mount("tmpfs", "/var/run", "tmpfs", 0, ""); err != nil {
		t.Skipf("%s: %v", noMounts, err)
	}
	if err := os.MkdirAll(mountedAt, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount(files, mountedAt, "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	info, err := defaultLogin(t.Context(), nil)
	if err != nil || info == nil {
		t.Fatal(info, err)
	}
	var user string
	testcluster.Eventually(t, "the roles of a new cluster", func() (err error) {
		user, _, err = whoami(t, info.Config)
		return err
	})
	t.Logf("who am I?\nuser: %s\nnamespace: %s\n", user, info.DefaultNamespace)
	if info.Priority != serviceAccountPriority || info.Config.BearerTokenFile != mountedAt+"/token" {
		t.Errorf("%+v", info)
	}
}

func TestServiceAccount_MissingFilesAreReported(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "localhost")
	t.Setenv("KUBERNETES_SERVICE_PORT", "1")
	if _, err := os.Stat(mountedAt); err == nil {
		t.Skipf("there are files of a service account at %s: run the test where there are none", mountedAt)
	}
	_, err := LoginWithServiceAccount(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "read the service account of the pod: open "+mountedAt) {
		t.Error(err)
	}
}
