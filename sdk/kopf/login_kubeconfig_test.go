package kopf

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
)

// whoami returns the user that the API server takes the client for.
func whoami(t *testing.T, config *rest.Config) (user string, groups []string, err error) {
	t.Helper()
	session, err := kube.NewSession(config, 0)
	if err != nil {
		return "", nil, err
	}
	defer session.Close()
	client := kube.NewClient(kube.Fixed(session), kube.ClientOptions{}).WithoutRetries()
	answer, err := client.Do(t.Context(), kube.Request{
		Method: http.MethodPost, Path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", ContentType: "application/json",
		Body: []byte(`{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}`),
	})
	if err != nil {
		return "", nil, err
	}
	var review struct {
		Status struct {
			UserInfo struct {
				Username string
				Groups   []string
			}
		}
	}
	err = json.Unmarshal(answer, &review)
	return review.Status.UserInfo.Username, review.Status.UserInfo.Groups, err
}

// kubeconfigOf returns a kubeconfig with one context, made of the cluster and the user.
func kubeconfigOf(t *testing.T, cluster, user map[string]any) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"current-context": "c",
		"contexts":        []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "k", "user": "u"}}},
		"clusters":        []any{map[string]any{"name": "k", "cluster": cluster}},
		"users":           []any{map[string]any{"name": "u", "user": user}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKubeconfig_ImpersonatesOtherUser(t *testing.T) {
	config := testcluster.Config(t)
	cluster := map[string]any{"server": config.Host, "certificate-authority-data": config.CAData, "certificate-authority": config.CAFile}
	admin := map[string]any{
		"client-certificate-data": config.CertData, "client-key-data": config.KeyData,
		"client-certificate": config.CertFile, "client-key": config.KeyFile, "token": config.BearerToken,
		"as": "jane", "as-groups": []string{"readers", "system:authenticated"},
	}
	info, err := readKubeconfig(writeKubeconfig(t, kubeconfigOf(t, cluster, admin)), "")
	if err != nil {
		t.Fatal(err)
	}
	var user string
	var groups []string
	testcluster.Eventually(t, "the roles of a new cluster", func() (err error) {
		user, groups, err = whoami(t, info.Config)
		return err
	})
	if user != "jane" || !strings.Contains(strings.Join(groups, " "), "readers") {
		t.Error(user, groups)
	}
}

func TestKubeconfig_TrustOfTheServer(t *testing.T) {
	gate := testcluster.NewGatekeeper(t, time.Hour)
	token, _ := gate.Token()
	server, ca := gate.Config().Host, gate.Config().CAData
	tests := map[string]struct {
		cluster map[string]any
		says    string // nothing if it does
	}{
		"trusted authority":    {map[string]any{"certificate-authority-data": ca}, ""},
		"unknown authority":    {map[string]any{}, "certificate signed by unknown authority"},
		"matching server name": {map[string]any{"certificate-authority-data": ca, "tls-server-name": "example.com"}, ""},
		"wrong server name":    {map[string]any{"certificate-authority-data": ca, "tls-server-name": "other.test"}, "not other.test"},
		"insecure":             {map[string]any{"insecure-skip-tls-verify": true}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.cluster["server"] = server
			info, err := readKubeconfig(writeKubeconfig(t, kubeconfigOf(t, tt.cluster, map[string]any{"token": token})), "")
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = whoami(t, info.Config)
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Error(err)
			}
		})
	}
}

func TestKubeconfig_UsesProxy(t *testing.T) {
	gate := testcluster.NewGatekeeper(t, time.Hour)
	token, _ := gate.Token()
	var tunnels atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		tunnels.Add(1)
		relay(t, w, r.Host)
	}))
	defer proxy.Close()
	info, err := readKubeconfig(writeKubeconfig(t, kubeconfigOf(t, map[string]any{
		"server": gate.Config().Host, "certificate-authority-data": gate.Config().CAData, "proxy-url": proxy.URL,
	}, map[string]any{"token": token})), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := whoami(t, info.Config); err != nil || tunnels.Load() != 1 {
		t.Error(err, tunnels.Load())
	}
	// The key identifies credentials that a server refuses through a proxy.
	if key, _ := kube.Identify(info.Config); key == "" {
		t.Error("the credentials cannot be told from others")
	}
}

// relay is a tunnel of a proxy, until either side ends it.
func relay(t *testing.T, w http.ResponseWriter, address string) {
	server, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	w.WriteHeader(http.StatusOK)
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	var wg sync.WaitGroup
	for _, way := range [][2]net.Conn{{server, client}, {client, server}} {
		wg.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // ends with either
			_ = way[0].Close()
		})
	}
	wg.Wait()
}

func TestKubeconfig_OpenIDConnectRenewsTokens(t *testing.T) {
	gate := testcluster.NewGatekeeper(t, time.Hour)
	renewals := 0
	issuer := httptest.NewTLSServer(nil)
	defer issuer.Close()
	issuer.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
			_ = json.NewEncoder(w).Encode(map[string]string{"issuer": issuer.URL, "token_endpoint": issuer.URL + "/token"})
			return
		}
		if want := fmt.Sprintf("refresh-%d", renewals); r.FormValue("refresh_token") != want {
			t.Errorf("the refresh token is %s, not %s", r.FormValue("refresh_token"), want)
		}
		renewals++
		token := idToken(t, renewals)
		gate.Accept(token)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"token_type": "Bearer", "access_token": "a", "id_token": token, "refresh_token": fmt.Sprintf("refresh-%d", renewals),
		})
	})
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw})
	path := writeKubeconfig(t, kubeconfigOf(t, map[string]any{
		"server": gate.Config().Host, "certificate-authority-data": gate.Config().CAData,
	}, map[string]any{"auth-provider": map[string]any{"name": "oidc", "config": map[string]string{
		"client-id": "kopf", "idp-issuer-url": issuer.URL, "id-token": idToken(t, 0), "refresh-token": "refresh-0",
		"idp-certificate-authority-data": base64.StdEncoding.EncodeToString(trusted),
	}}}))
	info, err := readKubeconfig(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := whoami(t, info.Config); err != nil {
			t.Error(err)
		}
	}
	if renewals != 2 {
		t.Errorf("%d renewals", renewals)
	}
	// The next program continues from the saved state: a refresh token may be good for one use.
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "refresh-2") {
		t.Errorf("%s, %v", text, err)
	}
}

// idToken returns a token that is about to expire, so that it is not used for another request.
func idToken(t *testing.T, n int) string {
	t.Helper()
	claims, err := json.Marshal(map[string]any{"exp": time.Now().Unix() + 1, "jti": n})
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none"}`)) + "." + encode(claims) + "." + encode([]byte("signature"))
}

func TestKubeconfig_FailingPluginIsReported(t *testing.T) {
	tests := map[string]struct{ user, says string }{
		"missing":          {"command: kopf-test-no-such-plugin, installHint: get it from the vendor", "get it from the vendor"},
		"failing":          {"command: 'false'", "executable false failed"},
		"malformed output": {"command: echo, args: [nonsense]", "decoding stdout"},
		"needs a terminal": {"command: echo, interactiveMode: Always", "standard input is not a terminal"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			user := "{exec: {apiVersion: client.authentication.k8s.io/v1, " + tt.user
			if !strings.Contains(user, "interactiveMode") {
				user += ", interactiveMode: Never"
			}
			info, err := readKubeconfig(writeKubeconfig(t, `
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://localhost:1"}}]
users: [{name: u, user: `+user+`}}}]
`), "")
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = whoami(t, info.Config)
			if sent, ok := errors.AsType[*kube.Error](err); !ok || !strings.Contains(sent.Error(), tt.says) {
				t.Error(err)
			}
		})
	}
}
