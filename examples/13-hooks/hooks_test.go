package hooks

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestTheOperatorLogsInAndTellsItsHealthAndCleansUp(t *testing.T) {
	cluster := kopftest.New(t)
	t.Setenv("KUBECONFIG", kubeconfig(t, cluster.Config))
	endpoint := "http://" + freeAddress(t) + "/healthz"
	operator := cluster.Run(Register, func(o *kopf.Operator) {
		o.Config = nil // that is, use the login handlers
		o.Settings.Process.Liveness = endpoint
	})
	operator.WaitLog("Activity 'startupRetried' failed temporarily: going to succeed in 1s")
	operator.WaitLog("Initial authentication has finished.")
	pod := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(pod)

	want := `{"monitored_objects":["` + cluster.Namespace + `/kopf-pod-1"],"tasks_count":1}`
	if got := fetch(t, endpoint); got != want {
		t.Errorf("the health is %s, not %s", got, want)
	}
	operator.Stop()
	operator.WaitLog("the task has ended")
	operator.WaitLog("Activity 'cleanup' succeeded.")
}

// kubeconfig writes a file for a cluster.
func kubeconfig(t *testing.T, config *rest.Config) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(api.Config{
		CurrentContext: "test",
		Contexts:       map[string]*api.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		Clusters: map[string]*api.Cluster{"test": {
			Server: config.Host, CertificateAuthority: config.CAFile, CertificateAuthorityData: config.CAData,
		}},
		AuthInfos: map[string]*api.AuthInfo{"test": {
			Token: config.BearerToken, ClientCertificate: config.CertFile, ClientCertificateData: config.CertData,
			ClientKey: config.KeyFile, ClientKeyData: config.KeyData,
		}},
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
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
