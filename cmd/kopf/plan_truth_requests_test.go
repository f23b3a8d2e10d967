package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// requestCounts counts successful requests that write, by "VERB RESOURCE[/SUBRESOURCE] NAMESPACE/NAME".
type requestCounts map[string]int

// writesKey returns the key of a request. The body has the name of a new object.
func writesKey(verb, resource, subresource, namespace, name string, body []byte) string {
	if verb == "create" && name == "" {
		var sent struct {
			Metadata struct{ Name, GenerateName string }
		}
		if json.Unmarshal(body, &sent) == nil {
			name = sent.Metadata.Name
			if name == "" {
				name = sent.Metadata.GenerateName + "*"
			}
		}
	}
	if subresource != "" {
		resource += "/" + subresource
	}
	return fmt.Sprintf("%s %s %s", verb, resource, strings.TrimPrefix(namespace+"/"+name, "/"))
}

// isForOperators reports whether a resource only serves operators: a plan and the operator post events at their own times.
func isForOperators(resource string) bool { return resource == "events" || resource == "leases" }

// plannedWrites returns the requests of handlers by their ids and keys, and the keys of the requests of the engine.
func plannedWrites(requests []proxy.Request) (ofHandlers map[string]requestCounts, own map[string]bool) {
	ofHandlers, own = make(map[string]requestCounts), make(map[string]bool)
	for _, r := range requests {
		if r.Code >= 400 || isForOperators(r.Resource.Resource) {
			continue
		}
		name := r.Name
		if r.Verb == "create" && strings.Contains(string(r.Body), `"generateName"`) {
			name = ""
		}
		key := writesKey(r.Verb, r.Resource.Resource, r.Subresource, r.Namespace, name, r.Body)
		if r.Handler == inspect.PlanEngine {
			own[key] = true
			continue
		}
		if ofHandlers[r.Handler] == nil {
			ofHandlers[r.Handler] = make(requestCounts)
		}
		ofHandlers[r.Handler][key]++
	}
	return ofHandlers, own
}

// wrongWrites compares the requests of a plan with the requests that a cluster has got. The requests of each handler must be sent as often as
// planned. The number of the engine's own requests depends on the timing of events, so they must only occur in both.
func wrongWrites(planned []proxy.Request, done requestCounts) []string {
	ofHandlers, own := plannedWrites(planned)
	total, by := make(requestCounts), make(map[string][]string)
	for _, id := range slices.Sorted(maps.Keys(ofHandlers)) {
		for key, n := range ofHandlers[id] {
			total[key] += n
			by[key] = append(by[key], fmt.Sprintf("%d by %q", n, id))
		}
	}
	keys := make(map[string]bool)
	for _, all := range []requestCounts{total, done} {
		for key := range all {
			keys[key] = true
		}
	}
	maps.Copy(keys, own)
	var wrong []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch {
		case own[key] && done[key] == 0, own[key] && done[key] < total[key], !own[key] && done[key] != total[key]:
			wrong = append(wrong, fmt.Sprintf("%s: planned %s (by the engine: %v), done %d", key, strings.Join(by[key], ", "), own[key], done[key]))
		}
	}
	return wrong
}

// writesRecorder is a server that passes requests on to a cluster, and counts the requests that write.
type writesRecorder struct {
	kubeconfig string // file that leads to the server
	proxy      *httputil.ReverseProxy

	mu   sync.Mutex
	seen requestCounts
}

func newWritesRecorder(t *testing.T, cluster *devcluster.Cluster) *writesRecorder {
	t.Helper()
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	w := &writesRecorder{seen: make(requestCounts), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	w.proxy = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0)} // it would have only the ends of watches
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	text := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "x", "clusters": [{"name": "x", "cluster": {"server": %q}}],
"contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}], "users": [{"name": "x", "user": {}}]}`, server.URL)
	if err := os.WriteFile(w.kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// writingVerbs are the verbs of the HTTP methods that write.
var writingVerbs = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}

// ServeHTTP implements [http.Handler].
func (w *writesRecorder) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	verb := writingVerbs[r.Method]
	resource, subresource, namespace, name := pathParts(r.URL.Path)
	if verb == "" || isForOperators(resource) || strings.HasSuffix(resource, "reviews") {
		w.proxy.ServeHTTP(rw, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if verb == "delete" && name == "" {
		verb = "deletecollection"
	}
	w.proxy.ServeHTTP(&successes{rw, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen[writesKey(verb, resource, subresource, namespace, name, body)]++
	}}, r)
}

// successes calls a function before the answer to a successful request is sent, so that the client ends after the call.
type successes struct {
	http.ResponseWriter
	count func()
}

// WriteHeader implements [http.ResponseWriter].
func (s *successes) WriteHeader(code int) {
	if code >= 200 && code < 400 {
		s.count()
	}
	s.ResponseWriter.WriteHeader(code)
}

// take returns the counts since the last call.
func (w *writesRecorder) take() requestCounts {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = make(requestCounts)
	return seen
}

// pathParts returns the parts of the path of an API request.
func pathParts(path string) (resource, subresource, namespace, name string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		parts = parts[3:]
	default:
		return "", "", "", ""
	}
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	return parts[0], parts[2], namespace, parts[1]
}
