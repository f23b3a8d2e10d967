package devcluster

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// twoClusters is a kubeconfig with one context for each of two clusters, and all that may belong to one.
const twoClusters = `apiVersion: v1
kind: Config
current-context: production
preferences: {colors: true}
clusters:
- name: production
  cluster: {server: "https://production.example.com"}
- name: chosen
  cluster:
    server: https://chosen.example.com
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: chosen}
contexts:
- name: production
  context: {cluster: production, user: admin}
- name: chosen
  context: {cluster: chosen, user: me, namespace: apps}
users:
- name: admin
  user: {token: secret-of-production}
- name: me
  user:
    client-certificate: pki/me.crt
    client-key: pki/me.key
    tokenFile: tokens/me
    as: somebody
    as-groups: [readers]
    as-user-extra: {reason: [test]}
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: bin/login
      args: [--fast]
      interactiveMode: Never
      provideClusterInfo: true
      env: [{name: NO_PROXY, value: here}]
`

// chosen returns a cluster whose kubeconfig has the text.
func chosen(t *testing.T, text string) *Cluster {
	t.Helper()
	isolate(t)
	return &Cluster{Provider: Context, Name: "chosen", Context: "chosen", KubeconfigPath: write(t, text)}
}

// connect returns a connection to the cluster.
func connect(t *testing.T, c *Cluster) *Connection {
	t.Helper()
	k, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func load(t *testing.T, path string) *clientcmdapi.Config {
	t.Helper()
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestConnection_HasOnlyTheChosenContext(t *testing.T) {
	c := chosen(t, twoClusters)
	k, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{k.Kubeconfig: 0o600, filepath.Dir(k.Kubeconfig): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v (%v)", path, info.Mode(), want, err)
		}
	}
	got, source := load(t, k.Kubeconfig), filepath.Dir(c.KubeconfigPath)
	if got.CurrentContext != "chosen" || len(got.Contexts) != 1 || len(got.Clusters) != 1 || len(got.AuthInfos) != 1 {
		t.Fatalf("the kubeconfig is %+v", got)
	}
	if namespace := got.Contexts["chosen"].Namespace; namespace != "apps" {
		t.Errorf("the namespace is %s", namespace)
	}
	cluster, user := got.Clusters["chosen"], got.AuthInfos["me"]
	paths := map[string]string{
		cluster.CertificateAuthority: "pki/ca.crt", user.ClientCertificate: "pki/me.crt", user.ClientKey: "pki/me.key",
		user.TokenFile: "tokens/me", user.Exec.Command: "bin/login",
	}
	for path, want := range paths {
		if path != filepath.Join(source, want) {
			t.Errorf("the path is %s, want %s in %s", path, want, source)
		}
	}
	if cluster.TLSServerName != "kubernetes" || cluster.Extensions["client.authentication.k8s.io/exec"] == nil || cluster.ProxyURL != "" {
		t.Errorf("the cluster is %+v", cluster)
	}
	if user.Impersonate != "somebody" || !cmp.Equal(user.ImpersonateGroups, []string{"readers"}) || user.ImpersonateUserExtra["reason"] == nil || !user.Exec.ProvideClusterInfo {
		t.Errorf("the user is %+v", user)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(k.Kubeconfig)); !os.IsNotExist(err) {
		t.Errorf("the folder is still there (%v)", err)
	}
}

func TestConnection_HasTheProxyOfTheEnvironment(t *testing.T) {
	proxy := func(r *http.Request) (*url.URL, error) {
		return url.Parse("http://proxy.example.com/for-" + r.URL.Host)
	}
	environ := func(name string) (string, bool) {
		value, ok := map[string]string{"HTTPS_PROXY": "http://proxy.example.com", "NO_PROXY": "nowhere"}[name]
		return value, ok
	}
	config, err := chosen(t, twoClusters).only(proxy, environ)
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Clusters["chosen"].ProxyURL; got != "http://proxy.example.com/for-chosen.example.com" {
		t.Errorf("the proxy of the cluster is %s", got)
	}
	want := []clientcmdapi.ExecEnvVar{{Name: "NO_PROXY", Value: "here"}, {Name: "HTTPS_PROXY", Value: "http://proxy.example.com"}}
	if diff := cmp.Diff(want, config.AuthInfos["me"].Exec.Env); diff != "" {
		t.Error(diff)
	}
}

const renewable = `apiVersion: v1
kind: Config
current-context: chosen
clusters: [{name: c, cluster: {server: "https://SERVER.example.com"}}]
contexts: [{name: chosen, context: {cluster: c, user: me}}]
users: [{name: me, user: {token: TOKEN, auth-provider: {name: oidc, config: {refresh-token: REFRESH}}}}]
`

func TestConnection_FollowsRenewedCredentialsOfTheSameCluster(t *testing.T) {
	c := chosen(t, renewable)
	k := connect(t, c)
	save := func(path, server, token, refresh string) {
		t.Helper()
		config := load(t, path)
		config.Clusters["c"].Server = server
		config.AuthInfos["me"].Token = token
		config.AuthInfos["me"].AuthProvider.Config["refresh-token"] = refresh
		if err := clientcmd.WriteToFile(*config, path); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(path, token, refresh string) {
		t.Helper()
		if err := k.sync(); err != nil {
			t.Fatal(err)
		}
		if me := load(t, path).AuthInfos["me"]; me.Token != token || me.AuthProvider.Config["refresh-token"] != refresh {
			t.Errorf("the user is %+v, want %s and %s", me, token, refresh)
		}
	}
	server := load(t, c.KubeconfigPath).Clusters["c"].Server
	save(c.KubeconfigPath, server, "second", "REFRESH")
	expect(k.Kubeconfig, "second", "REFRESH")
	save(k.Kubeconfig, server, "second", "renewed by the program")
	expect(c.KubeconfigPath, "second", "renewed by the program")
	save(c.KubeconfigPath, "https://production.example.com", "of another cluster", "other")
	expect(k.Kubeconfig, "second", "renewed by the program")
}
