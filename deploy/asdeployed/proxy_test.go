package asdeployed

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

const podsDenied = `{"kind":"Status","message":"pods is forbidden: User \"system:serviceaccount:ops:op\" cannot create resource \"pods\" in API group \"\" in the namespace \"default\""}`

// throughProxy returns a client of a proxy before a server. denied returns the requests that the proxy denied.
func throughProxy(t *testing.T, handler http.HandlerFunc) (client *http.Client, config *rest.Config, denied func() []Denial) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	var mu sync.Mutex
	var all []Denial
	proxy, err := NewProxy(&rest.Config{Host: server.URL + "/base", BearerToken: "of the person"}, User{"system:serviceaccount:ops:op", "ops"}, t.TempDir(), func(d Denial) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	info, err := os.Stat(proxy.Kubeconfig)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the kubeconfig is %v (%v)", info, err)
	}
	config, err = clientcmd.BuildConfigFromFlags("", proxy.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err = rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return client, config, func() []Denial {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func get(t *testing.T, client *http.Client, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Impersonate-Group", "system:masters")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestProxy_ImpersonatesWithOwnCredentials(t *testing.T) {
	client, config, denied := throughProxy(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path, " ", r.Header.Get("Authorization"), " ", r.Header.Get("Impersonate-User"), r.Header["Impersonate-Group"])
	})
	code, body := get(t, client, config.Host+"/api/v1/pods")
	if want := "/base/api/v1/pods Bearer of the person system:serviceaccount:ops:op[]"; code != http.StatusOK || body != want {
		t.Errorf("%d: %s", code, body)
	}
	if len(denied()) > 0 {
		t.Errorf("denied %v", denied())
	}
}

func TestProxy_NeedsToken(t *testing.T) {
	_, config, _ := throughProxy(t, func(http.ResponseWriter, *http.Request) { t.Error("the request came through") })
	for _, token := range []string{"", "wrong", config.BearerToken + "x"} {
		other, err := rest.HTTPClientFor(&rest.Config{Host: config.Host, BearerToken: token, TLSClientConfig: config.TLSClientConfig})
		if err != nil {
			t.Fatal(err)
		}
		if code, _ := get(t, other, config.Host+"/api"); code != http.StatusUnauthorized {
			t.Errorf("%q: %d", token, code)
		}
		other.CloseIdleConnections()
	}
}

func TestProxy_TellsDenialsOfRolesOnly(t *testing.T) {
	answers := map[string]string{
		"/base/denied": podsDenied,
		"/base/quota":  `{"kind":"Status","message":"pods \"x\" is forbidden: exceeded quota: few"}`,
		"/base/path":   `{"kind":"Status","message":"forbidden: User \"u\" cannot get path \"/metrics\""}`,
		"/base/text":   "Forbidden",
		"/base/binary": "k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12\xe4\x01\x12\x07Failure\x1a\x80\x01leases is forbidden: User \"u\" cannot create resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"ops\"\"\x09Forbidden0\x93\x03",
	}
	client, config, denied := throughProxy(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, answers[r.URL.Path])
	})
	for _, path := range []string{"/denied", "/quota", "/path", "/text", "/binary"} {
		if code, body := get(t, client, config.Host+path); code != http.StatusForbidden || body != answers["/base"+path] {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	got := denied()
	want := []Denial{
		{Verb: "create", Resource: "pods", Namespace: "default"}, {Verb: "get", Path: "/metrics"},
		{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: "ops"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("denied %+v", got)
	}
}

func TestProxy_StreamsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client, config, _ := throughProxy(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "first")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the stream stays open
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line := make([]byte, len("first\n"))
	if _, err := io.ReadFull(resp.Body, line); err != nil || string(line) != "first\n" {
		t.Errorf("got %q (%v)", line, err)
	}
}

func TestProxy_LostClusterIsBadGateway(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	proxy, err := NewProxy(&rest.Config{Host: server.URL}, User{Name: "u"}, t.TempDir(), func(Denial) {})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	}()
	config, err := clientcmd.BuildConfigFromFlags("", proxy.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	if code, body := get(t, client, config.Host+"/api"); code != http.StatusBadGateway || !strings.Contains(body, "does not answer") {
		t.Errorf("%d %s", code, body)
	}
}

func TestDenial_ExplainNamesRuleOrOption(t *testing.T) {
	operators := []inspect.Description{{Permissions: []inspect.Permission{
		{Group: "kopf.dev", Resource: "kopfexamples", Verbs: []string{"list", "watch"}, Purpose: inspect.HandledObjects, Handlers: []string{"create (x.go:1)"}},
		{Group: "coordination.k8s.io", Resource: "leases", Names: []string{"lease"}, Verbs: []string{"update"}, Purpose: "replicas"},
	}}}
	for _, test := range []struct {
		denial Denial
		want   string
	}{
		{Denial{Verb: "watch", Group: "kopf.dev", Resource: "kopfexamples"}, "watch kopfexamples.kopf.dev in the whole cluster: its roles lack a rule that kopf manifests writes for the handled objects, create (x.go:1)"},
		{Denial{Verb: "delete", Group: "kopf.dev", Resource: "kopfexamples", Namespace: "one"}, `in the namespace one: its roles have no rule for that; add this option to the handler that sends the request: kopf.Uses(kopf.Resource("kopf.dev", "kopfexamples"), "delete")`},
		{Denial{Verb: "get", Resource: "pods/log", Namespace: "one"}, `kopf.Uses(kopf.Resource("v1", "pods/log"), "get")`},
		{Denial{Verb: "patch", Group: "apps", Resource: "deployments/scale"}, "patch deployments.apps/scale in the whole cluster"},
		{Denial{Verb: "get", Path: "/metrics"}, "get /metrics"},
		{Denial{Verb: "update", Group: "coordination.k8s.io", Resource: "leases"}, "for replicas, for the object lease alone; apply"},
	} {
		if got := test.denial.Explain(operators); !strings.Contains(got, test.want) {
			t.Errorf("%+v: %s", test.denial, got)
		}
	}
}

func TestDenial_ExpectedWhereManifestsDoWithout(t *testing.T) {
	patch := Denial{Verb: "patch", Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"}
	mutating := []inspect.Description{{Handlers: []inspect.Registration{{Kind: inspect.KindMutate}}}}
	create := patch
	create.Verb = "create"
	if !patch.Expected(nil) || patch.Expected(mutating) || create.Expected(nil) {
		t.Error("webhooks of a family without handlers are expected not to be removed, and nothing else")
	}
	definitions := Denial{Verb: "list", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	if !definitions.Expected(nil) || (Denial{Verb: "list", Resource: "pods"}).Expected(nil) || (Denial{Verb: "create", Resource: "namespaces"}).Expected(nil) {
		t.Error("other denials are expected")
	}
	with := []inspect.Description{{Permissions: []inspect.Permission{{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Verbs: []string{"list", "watch"}}}}}
	if definitions.Expected(with) {
		t.Error("the denial of a rule that there should be is expected")
	}
}
