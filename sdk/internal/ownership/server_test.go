package ownership

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { testmain.Run(m, testcluster.Exit) }

type tree = map[string]any

// The content types of writes.
const (
	updating   = "application/json"
	merging    = "application/merge-patch+json"
	patching   = "application/json-patch+json"
	strategic  = "application/strategic-merge-patch+json"
	applying   = "application/apply-patch+yaml"
	asMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// The field managers: ours applies, and others interfere.
const (
	ours   = "kopf.dev/webapps.example.com"
	others = "other"
)

// server sends requests to the API server as they are.
type server struct {
	t       *testing.T
	cluster *kopftest.Cluster
	client  *http.Client
}

func newServer(t *testing.T) *server {
	t.Helper()
	t.Parallel()
	cluster := kopftest.New(t)
	security, err := rest.TLSConfigFor(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	// Connections end soon after the test, since a stream may still count as open while idle connections are closed.
	transport := &http.Transport{TLSClientConfig: security, ForceAttemptHTTP2: true, IdleConnTimeout: time.Second}
	authorized, err := rest.HTTPWrappersForConfig(cluster.Config, transport)
	if err != nil {
		t.Fatal(err)
	}
	return &server{t: t, cluster: cluster, client: &http.Client{Transport: authorized}}
}

// with returns the server for a subtest.
func (s *server) with(t *testing.T) *server { return &server{t, s.cluster.With(t), s.client} }

// answer is the response to a request.
type answer struct {
	code int
	body tree
}

func (a answer) version() string { return text(a.body, "metadata", "resourceVersion") }

// causes are the fields that a refusal names.
func (a answer) causes() []string {
	details, _ := a.body["details"].(tree)
	causes, _ := details["causes"].([]any)
	var all []string
	for _, cause := range causes {
		all = append(all, text(cause.(tree), "field"))
	}
	return all
}

// send sends a request. The parameters are pairs of names and values.
func (s *server) send(method, path, contentType string, body any, parameters ...string) answer {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	query := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	target := s.cluster.Config.Host + path + "?" + query.Encode()
	request, err := http.NewRequestWithContext(s.t.Context(), method, target, bytes.NewReader(text))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("Accept", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	got := answer{code: response.StatusCode}
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	if json.Unmarshal(data, &got.body) != nil {
		got.body = tree{"message": string(data)} // such as "404 page not found"
	}
	return got
}

// must is send for requests that succeed.
func (s *server) must(method, path, contentType string, body any, parameters ...string) answer {
	s.t.Helper()
	got := s.send(method, path, contentType, body, parameters...)
	if got.code >= 300 {
		s.t.Fatalf("%s %s: %d %v", method, path, got.code, got.body)
	}
	return got
}

func (s *server) get(path string) tree {
	s.t.Helper()
	return s.must(http.MethodGet, path, updating, nil).body
}

// apply applies an object as the manager of the operator, without force.
func (s *server) apply(path string, object tree, parameters ...string) answer {
	s.t.Helper()
	return s.send(http.MethodPatch, path, applying, object, append([]string{"fieldManager", ours}, parameters...)...)
}

// text returns a text within a tree, or the empty one.
func text(v any, path ...string) string {
	for _, key := range path {
		m, _ := v.(tree)
		v = m[key]
	}
	s, _ := v.(string)
	return s
}

// clone returns a deep copy of an object.
func clone(object tree) tree {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // trees consist of maps, lists and plain values
	}
	var copied tree
	if err := json.Unmarshal(data, &copied); err != nil {
		panic(err)
	}
	return copied
}
