package devcluster

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kubeconfig writes a kubeconfig with these contexts, all for the same server.
func kubeconfig(t *testing.T, server, current string, contexts ...string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Config\ncurrent-context: %q\nclusters:\n- name: c\n  cluster: {server: %q}\nusers:\n- name: u\n  user: {}\ncontexts:\n", current, server)
	for _, name := range contexts {
		fmt.Fprintf(&b, "- name: %s\n  context: {cluster: c, user: u, namespace: ns}\n", name)
	}
	return write(t, b.String())
}

func write(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

func versionAnswer(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `{"gitVersion": "v1.30.1"}`)
}

// isolate hides the user's clusters and kubeconfigs from a test.
func isolate(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
}

func TestOpen_Context(t *testing.T) {
	isolate(t)
	server := serve(t, versionAnswer)
	path := kubeconfig(t, server, "kind-a", "kind-a", "kind-b")
	c, err := Open(t.Context(), Options{Kubeconfig: path, Context: "kind-b"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Provider != Context || c.Name != "kind-b" || c.Context != "kind-b" || c.Version != "v1.30.1" || c.Server != server || c.Namespace != "ns" || c.Started {
		t.Errorf("got %+v", c)
	}
	cfg, err := c.RESTConfig()
	if err != nil || cfg.Host != server {
		t.Errorf("its configuration is %v (%v)", cfg, err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOpen_CurrentContextFromDefaultKubeconfig(t *testing.T) {
	isolate(t)
	t.Setenv("KUBECONFIG", kubeconfig(t, serve(t, versionAnswer), "kind-a", "kind-a"))
	c, err := Open(t.Context(), Options{Provider: Context})
	if err != nil || c.Name != "kind-a" {
		t.Fatalf("got %+v (%v)", c, err)
	}
	if cfg, err := c.RESTConfig(); err != nil || cfg.Host != c.Server {
		t.Errorf("its configuration is %v (%v)", cfg, err)
	}
}

func TestOpen_ProductionContextNeedsYes(t *testing.T) {
	isolate(t)
	// The host does not resolve: the error comes before any request.
	path := kubeconfig(t, "https://production.invalid", "production", "production")
	_, err := Open(t.Context(), Options{Kubeconfig: path})
	if !errors.Is(err, ErrNotDevelopment) || !strings.Contains(err.Error(), "production.invalid") || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("the error is %v", err)
	}
	if _, err := Open(t.Context(), Options{Kubeconfig: path, Yes: true}); !errors.Is(err, ErrUnreachable) {
		t.Errorf("with Yes, the error is %v", err)
	}
}

func TestOpen_InvalidKubeconfigIsExplained(t *testing.T) {
	isolate(t)
	for _, test := range []struct {
		title   string
		options Options
		kind    error
		says    []string
	}{
		{"a missing file", Options{Kubeconfig: "/does/not/exist"}, ErrKubeconfig, []string{"/does/not/exist", "file does not exist"}},
		{"a broken file", Options{Kubeconfig: write(t, "clusters: [")}, ErrKubeconfig, []string{"cannot use the kubeconfig", "fix it"}},
		{"an empty file", Options{Kubeconfig: write(t, "")}, ErrKubeconfig, []string{"no context"}},
		{"no file at all", Options{Provider: Context}, ErrKubeconfig, []string{"no context", ".kube/config", "--cluster=embedded"}},
		{"no current context", Options{Kubeconfig: kubeconfig(t, "https://127.0.0.1:1", "", "a", "b")}, ErrKubeconfig, []string{"no current context", "a, b"}},
		{"an unknown context", Options{Context: "c", Kubeconfig: kubeconfig(t, "https://127.0.0.1:1", "a", "a", "b")}, ErrNotFound, []string{`"c"`, "a, b"}},
		{"a context without a server", Options{Kubeconfig: kubeconfig(t, "", "a", "a")}, ErrKubeconfig, []string{`"a"`, "no server"}},
	} {
		t.Run(test.title, func(t *testing.T) {
			_, err := Open(t.Context(), test.options)
			if !errors.Is(err, test.kind) {
				t.Fatalf("the error is %v", err)
			}
			for _, part := range test.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error is %q, without %q", err, part)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
		})
	}
}

func TestOpen_UnreachableServerIsExplained(t *testing.T) {
	isolate(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		title, server, says string
	}{
		{"no listener", dead, "connection refused"},
		{"something else", serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }), "not a Kubernetes API server"},
		{"the credentials are refused", serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }), "401 Unauthorized"},
	} {
		t.Run(test.title, func(t *testing.T) {
			_, err := Open(t.Context(), Options{Kubeconfig: kubeconfig(t, test.server, "a", "a")})
			if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), test.server) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestOpen_KubeconfigThatIsNoFileIsRefused(t *testing.T) {
	isolate(t)
	for _, test := range []struct{ explicit, env, says string }{
		{"/dev/zero", "", "/dev/zero: it is a device or a pipe"},
		{"", "/dev/zero", "/dev/zero: it is a device or a pipe"},
		{"", "/dev/null", "no contexts in /dev/null"},
	} {
		t.Setenv("KUBECONFIG", test.env)
		_, err := Open(t.Context(), Options{Provider: Context, Kubeconfig: test.explicit})
		if !errors.Is(err, ErrKubeconfig) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

func TestOpen_PasswordsInURLsAreHidden(t *testing.T) {
	isolate(t)
	const password = "s3cr:t/@x"
	withProxy := func(server, proxy string) string {
		return write(t, fmt.Sprintf("current-context: kind-a\ncontexts: [{name: kind-a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: %q, proxy-url: %q}}]\n", server, proxy))
	}
	var shown []string
	good := strings.Replace(serve(t, versionAnswer), "://", "://me:s3cr%3At%2F%40x@", 1)
	c, err := Open(t.Context(), Options{Kubeconfig: kubeconfig(t, good, "kind-a", "kind-a"), Progress: func(p Progress) { shown = append(shown, p.Message) }})
	if err != nil {
		t.Fatal(err)
	}
	shown = append(shown, fmt.Sprintf("%+v", c))
	for _, o := range []Options{
		{Kubeconfig: kubeconfig(t, "https://me:"+password+"@production.invalid", "prod", "prod")},
		{Kubeconfig: kubeconfig(t, "https://me:"+password+"@production.invalid", "prod", "prod"), Yes: true},
		{Kubeconfig: kubeconfig(t, "https://me:"+password+"@127.0.0.1:1", "kind-a", "kind-a")},
		{Kubeconfig: kubeconfig(t, "https://me:%zz"+password+"@127.0.0.1:1", "kind-a", "kind-a")},
		{Kubeconfig: withProxy("https://127.0.0.1:1", "http://me:"+password+"@127.0.0.1:1")},
		{Kubeconfig: withProxy("https://127.0.0.1:1", "ftp://me:"+password+"@127.0.0.1:1")},
		{Kubeconfig: withProxy("https://127.0.0.1:1", "http://me:%zz"+password+"@127.0.0.1:1")},
	} {
		_, err := Open(t.Context(), o)
		if err == nil {
			t.Errorf("%+v is opened", o)
			continue
		}
		shown = append(shown, err.Error())
	}
	for _, text := range shown {
		if strings.Contains(text, "s3cr") {
			t.Errorf("it shows %s", text)
		}
	}
}

func TestOpen_PasswordDoesNotMakeServerLocal(t *testing.T) {
	isolate(t)
	path := kubeconfig(t, "https://me:x@production.invalid/@localhost", "production", "production")
	if _, err := Open(t.Context(), Options{Kubeconfig: path}); !errors.Is(err, ErrNotDevelopment) {
		t.Errorf("the error is %v", err)
	}
}
