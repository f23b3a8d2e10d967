package hooks

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestHooks_StartupLoginProbesAndCleanup(t *testing.T) {
	cluster := kopftest.New(t)
	t.Setenv("KUBECONFIG", cluster.Kubeconfig())
	operator := cluster.Run(Register, func(o *kopf.Operator) {
		o.Config = nil                                             // use the login handlers
		o.Settings.Process.Liveness = "http://127.0.0.1:0/healthz" // any free port
	})
	operator.WaitLog("Activity 'startupRetried' failed temporarily: going to succeed in 1s")
	operator.WaitLog("Initial authentication has finished.")
	pod := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(pod)

	want := `{"monitored_objects":["` + cluster.Namespace + `/kopf-pod-1"],"tasks_count":1}`
	if got := fetch(t, served(t, operator, "/healthz")); got != want {
		t.Errorf("the probes are %s, want %s", got, want)
	}
	text := fetch(t, served(t, operator, "/metrics"))
	if want := `kopf_handler_attempts_total{handler="startupRetried",kind="startup",outcome="waiting"} 3`; !strings.Contains(text, want+"\n") {
		t.Errorf("%s is not in\n%s", want, text)
	}
	operator.Stop()
	operator.WaitLog("the task has ended")
	operator.WaitLog("Activity 'cleanup' succeeded.")
}

// served returns the URL at which the operator says that it serves a path.
func served(t *testing.T, operator *kopftest.Operator, path string) string {
	t.Helper()
	for _, e := range operator.LogEntries() {
		if url, ok := strings.CutPrefix(e.Message, "Serving "); ok && strings.HasSuffix(url, path) {
			return url
		}
	}
	t.Fatalf("%s is not served", path)
	return ""
}

func fetch(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s (%v)", resp.Status, body, err)
	}
	return string(body)
}
