package kopf

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func writeKubeconfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestKubeconfig_UsesCredentialPlugin(t *testing.T) {
	var header string
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { header = r.Header.Get("Authorization") }))
	defer server.Close()
	path := writeKubeconfig(t, fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users:
  - name: u
    user:
      exec:
        apiVersion: client.authentication.k8s.io/v1
        command: echo
        args: ['{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "from-plugin"}}']
        interactiveMode: Never
`, server.URL))
	t.Setenv("KUBECONFIG", path)
	info, err := LoginWithKubeconfig(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(info.Config)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if header != "Bearer from-plugin" {
		t.Errorf("%q", header)
	}
}

func TestKubeconfig_UsesOpenIDConnect(t *testing.T) {
	t.Setenv("KUBECONFIG", writeKubeconfig(t, `
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://localhost:1"}}]
users:
  - name: u
    user:
      auth-provider: {name: oidc, config: {client-id: c, idp-issuer-url: "https://issuer.test", id-token: t, refresh-token: r}}
`))
	info, err := LoginWithKubeconfig(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rest.HTTPClientFor(info.Config); err != nil {
		t.Error(err)
	}
}

func TestLogin_NilWithoutKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nothing"))
	if info, err := LoginWithKubeconfig(t.Context(), nil); info != nil || err != nil {
		t.Error(info, err)
	}
	if info, err := LoginWithServiceAccount(t.Context(), nil); info != nil || err != nil {
		t.Error(info, err)
	}
}

func loginOf(t *testing.T, o *Operator) (any, error) {
	t.Helper()
	hs := o.logins()
	if len(hs) != 1 {
		t.Fatalf("%d login handlers", len(hs))
	}
	return hs[0].Invoke(t.Context(), &handlers.Call{Handler: hs[0]})
}

func TestLogin_Precedence(t *testing.T) {
	path := writeKubeconfig(t, `
current-context: one
contexts: [{name: one, context: {cluster: k}}, {name: two, context: {cluster: l, namespace: ns}}]
clusters: [{name: k, cluster: {server: "http://one"}}, {name: l, cluster: {server: "http://two"}}]
`)
	t.Setenv("KUBECONFIG", path)
	own := &Registry{}
	OnLogin(own, func(context.Context, *Activity) (*ConnectionInfo, error) {
		return &ConnectionInfo{Config: &rest.Config{Host: "http://own"}}, nil
	}, ID("own"))
	tests := map[string]struct {
		operator *Operator
		server   string
		says     string
	}{
		"no flags":        {&Operator{Registry: &Registry{}}, "http://one", ""},
		"a context":       {&Operator{Registry: own, context: "two"}, "http://two", ""},
		"a file":          {&Operator{Registry: own, kubeconfig: path}, "http://one", ""},
		"handlers":        {&Operator{Registry: own}, "http://own", ""},
		"missing context": {&Operator{Registry: own, context: "three"}, "", `read kubeconfig: no context "three"`},
		"missing file":    {&Operator{Registry: own, kubeconfig: path + "x"}, "", "no such file"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := loginOf(t, tt.operator)
			if tt.says != "" {
				if _, ok := errors.AsType[PermanentError](err); !ok || !strings.Contains(err.Error(), tt.says) {
					t.Error(err)
				}
				return
			}
			login, ok := got.(*engine.Login)
			if err != nil || !ok || login.Config.Host != tt.server {
				t.Error(got, err)
			}
		})
	}
}

func TestLogin_HandlersThatAreNotCalledAreNamed(t *testing.T) {
	own := &Registry{}
	for _, id := range []string{"vault", "fallback"} {
		OnLogin(own, func(context.Context, *Activity) (*ConnectionInfo, error) { return nil, nil }, ID(id))
	}
	for name, tt := range map[string]struct {
		operator *Operator
		want     string
	}{
		"a file":          {&Operator{Registry: own, kubeconfig: "x"}, "vault, fallback; to call them, run the executable of kopf build"},
		"a context":       {&Operator{Registry: own, context: "x"}, "vault, fallback; to call them, run the executable of kopf build"},
		"handlers":        {&Operator{Registry: own}, ""},
		"no own handlers": {&Operator{Registry: &Registry{}, kubeconfig: "x"}, ""},
	} {
		var log strings.Builder
		tt.operator.warnOfUncalledLogins(slog.New(slog.NewTextHandler(&log, nil)))
		if tt.want == "" && log.Len() > 0 || !strings.Contains(log.String(), tt.want) || strings.Count(log.String(), "\n") > 1 {
			t.Errorf("%s: %s", name, log.String())
		}
	}
}

func TestLogin_EmptyKubeconfigIsAnError(t *testing.T) {
	for name, text := range map[string]string{"no text": "", "nothing in it": "{apiVersion: v1, kind: Config, users: [], contexts: [], clusters: []}"} {
		path := writeKubeconfig(t, text)
		t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nothing")+string(filepath.ListSeparator)+path)
		if info, err := LoginWithKubeconfig(t.Context(), nil); info != nil || err == nil || !strings.Contains(err.Error(), path+" is empty") {
			t.Errorf("%s: got %v, %v; want an error that names the file", name, info, err)
		}
	}
}

func TestLogin_PluginWithoutVersionIsAnError(t *testing.T) {
	plugin := map[string]any{"exec": map[string]any{"command": "true", "interactiveMode": "Never"}}
	text := kubeconfigOf(t, map[string]any{"server": "https://localhost"}, plugin)
	if _, err := readKubeconfig(writeKubeconfig(t, text), ""); err == nil || !strings.Contains(err.Error(), "apiVersion") {
		t.Errorf("got %v, want an error about the apiVersion", err)
	}
}

func TestLogin_WithoutClusterSaysWhatToDo(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "nothing")
	t.Setenv("HOME", t.TempDir())
	for kubeconfig, says := range map[string]string{"": "set KUBECONFIG", absent: "only files that do not exist: " + absent + "; correct KUBECONFIG"} {
		t.Setenv("KUBECONFIG", kubeconfig)
		err := (&Operator{Registry: &Registry{}, AllNamespaces: true}).Run(t.Context())
		if !errors.Is(err, ErrLogin) || !strings.Contains(err.Error(), says) {
			t.Errorf("KUBECONFIG=%s: got %v, want %q in it", kubeconfig, err, says)
		}
	}
}

func TestLogin_LeavesOutAbsentFiles(t *testing.T) {
	path := writeKubeconfig(t, "{current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, cluster: {server: \"http://one\"}}]}")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "nothing")+string(filepath.ListSeparator)+path)
	info, err := LoginWithKubeconfig(t.Context(), nil)
	if err != nil || info == nil || info.Config.Host != "http://one" {
		t.Errorf("got %+v, %v; want the server of the file that exists", info, err)
	}
}

func TestLogin_ConnectionInfoWithoutConfigFails(t *testing.T) {
	r := &Registry{}
	OnLogin(r, func(context.Context, *Activity) (*ConnectionInfo, error) { return &ConnectionInfo{}, nil }, ID("x"))
	if _, err := loginOf(t, &Operator{Registry: r}); err == nil || !strings.Contains(err.Error(), "without Config") {
		t.Error(err)
	}
}
