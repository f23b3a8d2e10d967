package uninstall

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) {
	testmain.Run(m, testcluster.Exit)
}

// testTimeout bounds the waits of tests, also on a busy machine.
const testTimeout = 2 * time.Minute

const finalizer = "example.com/finalizer"

var (
	configMaps    = &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}
	apiConfigMaps = inspect.APIResource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}
	apiNone       = inspect.APIResource{Group: "none.example.com", Version: "v1", Plural: "things", Kind: "Thing", Namespaced: true}
)

// run is a removal of an operator, with its output and notes.
type run struct {
	*remover

	mu    sync.Mutex
	out   strings.Builder
	notes []string
}

// newRun returns a removal that repeats requests soon.
func newRun(t *testing.T, config *rest.Config, target Target, options Options) *run {
	t.Helper()
	r := new(run)
	options.Out = &r.out
	options.Note = func(text string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.notes = append(r.notes, text)
	}
	var err error
	if r.remover, err = newRemover(config, target, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	r.pause = time.Millisecond
	pauses := make([]time.Duration, len(backoffs))
	for i := range pauses {
		pauses[i] = time.Millisecond
	}
	r.connect(pauses)
	return r
}

// lines returns the printed lines.
func (r *run) lines() []string {
	return strings.Split(strings.TrimSuffix(r.out.String(), "\n"), "\n")
}

// said reports whether a note has a text.
func (r *run) said(text string) bool {
	return strings.Contains(strings.Join(r.notes, "\n"), text)
}

// create creates config maps with finalizers in parallel.
func create(t *testing.T, client *kube.Client, namespace, prefix string, count int, finalizers ...string) {
	t.Helper()
	next := make(chan int)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for i := range next {
				body, err := json.Marshal(map[string]any{
					"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprintf("%s-%d", prefix, i), "finalizers": finalizers},
				})
				if err == nil {
					_, err = client.Post(t.Context(), configMaps, namespace, body)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	group.Wait()
}

// withFinalizer counts the config maps that have the finalizer.
func withFinalizer(t *testing.T, config *rest.Config, namespace string) int {
	t.Helper()
	found, err := newRun(t, config, Target{Finalizer: finalizer}, Options{}).list(t.Context(), configMaps, namespace, "")
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// apply creates an object from YAML, which is deleted at the end of the test.
func apply(t *testing.T, client *kube.Client, res *resources.Resource, namespace, text string) *object.Object {
	t.Helper()
	var tree map[string]any
	if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatal(err)
	}
	return testcluster.Create(t, client, res, namespace, tree)
}

// unreliable returns a configuration of the cluster that some requests do not reach.
func unreliable(t *testing.T, config *rest.Config, refuse func(w http.ResponseWriter, r *http.Request) bool) *rest.Config {
	t.Helper()
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		t.Fatal(err)
	}
	session, err := kube.NewSession(config, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }, Transport: session,
		ErrorLog: log.New(io.Discard, "", 0), // of requests that the tests interrupt
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !refuse(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// answer responds with a status of the API.
func answer(w http.ResponseWriter, code int) {
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "0")
	}
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"as the test says"}`, reasons[code], code)
}

var reasons = map[int]string{
	http.StatusForbidden: "Forbidden", http.StatusNotFound: "NotFound", http.StatusConflict: "Conflict", http.StatusGone: "Expired",
	http.StatusTooManyRequests: "TooManyRequests", http.StatusInternalServerError: "InternalError",
}
