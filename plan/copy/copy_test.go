package copy

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/plan/source"
)

var (
	pods    = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
)

// newCopy returns a copy of a server with three pods, a Secret, and nothing else. It counts the listings.
func newCopy(t *testing.T, o Options) (*Copy, *atomic.Int64) {
	t.Helper()
	var listings atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			_, _ = io.WriteString(w, `{"gitVersion":"v1.30.1"}`)
			return
		case "/api/v1/pods":
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"namespace":"a","name":"one"}},`+
				`{"metadata":{"namespace":"a","name":"two"}},{"metadata":{"namespace":"b","name":"one"},"spec":{"big":12345678901234567890}}]}`)
		case "/api/v1/namespaces/a/pods": // listed before another client has deleted the first pod, and created the second one
			_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"namespace":"a","name":"old"}},{"metadata":{"namespace":"a","name":"one"}}]}`)
		case "/api/v1/secrets":
			_, _ = io.WriteString(w, `{"kind":"SecretList","apiVersion":"v1","items":[{"metadata":{"namespace":"a","name":"s"},"data":{"p":"aHVudGVyMjI="}}]}`)
		case "/api/v1/services":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not for you","code":403}`)
		}
		listings.Add(1)
	}))
	t.Cleanup(server.Close)
	reader, err := source.Open(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	c, err := New(t.Context(), reader, o)
	if err != nil {
		t.Fatal(err)
	}
	return c, &listings
}

func list(t *testing.T, c *Copy, scope Scope) *Listing {
	t.Helper()
	l, err := c.Listing(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestListing_ReadsOnce(t *testing.T) {
	c, listings := newCopy(t, Options{})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			l, err := c.Listing(t.Context(), Scope{Resource: pods})
			if err != nil || len(l.Objects) != 3 {
				t.Errorf("the listing is %+v: %v", l, err)
			}
		})
	}
	wg.Wait()
	for scope, want := range map[Scope]int{{Resource: pods, Namespace: "a"}: 2, {Resource: pods, Namespace: "a", Name: "one"}: 1, {Resource: pods, Namespace: "c"}: 0} {
		if l := list(t, c, scope); len(l.Objects) != want || l.Refused != nil {
			t.Errorf("%s has %d objects, want %d", scope, len(l.Objects), want)
		}
	}
	if n := listings.Load(); n != 1 {
		t.Errorf("the cluster was asked %d times, want once", n)
	}
	if got := string(list(t, c, Scope{Resource: pods, Namespace: "b"}).Objects[0].JSON); got != `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"one","namespace":"b"},"spec":{"big":12345678901234567890}}` {
		t.Errorf("the object is %s, want it with its kind and its numbers", got)
	}
}

func TestListing_KeepsRefusalsButNotFailures(t *testing.T) {
	c, listings := newCopy(t, Options{})
	nodes, services := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, schema.GroupVersionResource{Version: "v1", Resource: "services"}
	for range 2 {
		if l := list(t, c, Scope{Resource: nodes}); l.Refused == nil || l.Refused.Message != "not for you" {
			t.Errorf("the refusal is %+v", l.Refused)
		}
		if _, err := c.Listing(t.Context(), Scope{Resource: services}); err == nil {
			t.Error("a failure of the cluster is kept as a listing")
		}
	}
	if n := listings.Load(); n != 3 {
		t.Errorf("the cluster was asked %d times, want once for the refusal and twice for the failure", n)
	}
	if s := c.Summary(); len(s.Refused) != 1 || s.Refused[0].Code != http.StatusForbidden {
		t.Errorf("the summary has the refusals %+v", s.Refused)
	}
}

// TestListing_ObjectWithTheNameOfASubresourceIsRefused gets an object that the reader of the cluster never gets.
func TestListing_ObjectWithTheNameOfASubresourceIsRefused(t *testing.T) {
	c, listings := newCopy(t, Options{Limit: 10})
	l := list(t, c, Scope{Resource: pods, Namespace: "a", Name: "log"})
	if l.Refused == nil || l.Refused.Code != http.StatusForbidden || !strings.Contains(l.Refused.Message, "the name of a subresource") || listings.Load() != 0 {
		t.Errorf("the refusal is %+v after %d requests", l.Refused, listings.Load())
	}
}

// TestListing_OfAllNamespacesHasTheListedNamespaceOnce lists a namespace before all namespaces, as a plan does that applies manifests.
func TestListing_OfAllNamespacesHasTheListedNamespaceOnce(t *testing.T) {
	c, _ := newCopy(t, Options{Limit: 3})
	names := func(c *Copy, scope Scope) (all []string) {
		t.Helper()
		for _, o := range list(t, c, scope).Objects {
			all = append(all, o.Namespace+"/"+o.Name)
		}
		slices.Sort(all)
		return all
	}
	first := list(t, c, Scope{Resource: pods, Namespace: "a"})
	for range 2 {
		for scope, want := range map[Scope]string{{Resource: pods}: "[a/old a/one b/one]", {Resource: pods, Namespace: "a"}: "[a/old a/one]"} {
			if got := fmt.Sprint(names(c, scope)); got != want {
				t.Errorf("%s has %s, want %s", scope, got, want)
			}
		}
	}
	if s := c.Summary(); len(s.Resources) != 1 || s.Resources[0].Count != 3 || !s.From.Equal(first.At) {
		t.Errorf("the summary is %+v, want one listing with three objects, since %s", s, first.At)
	}
	n := 0
	for range c.Objects() {
		n++
	}
	if n != 3 {
		t.Errorf("the copy yields %d objects, want 3", n)
	}
}

func TestListing_LimitIsForAllListings(t *testing.T) {
	c, _ := newCopy(t, Options{Limit: 3})
	list(t, c, Scope{Resource: pods})
	_, err := c.Listing(t.Context(), Scope{Resource: secrets})
	if limit, ok := errors.AsType[*LimitError](err); !ok || limit.Limit != 3 || !strings.HasSuffix(err.Error(), "more than 3 objects: set a higher --limit, or serve fewer namespaces with -n") {
		t.Errorf("the fourth object ends with %v", err)
	}
}

func write(t *testing.T, c *Copy) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := c.Write(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func unzip(t *testing.T, file []byte) string {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var file bytes.Buffer
	zip := gzip.NewWriter(&file)
	if _, err := io.WriteString(zip, text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestWrite_HasNoValuesOfSecrets(t *testing.T) {
	c, _ := newCopy(t, Options{Context: "prod"})
	list(t, c, Scope{Resource: secrets})
	if text := unzip(t, write(t, c)); strings.Contains(text, "aHVudGVyMjI=") || strings.Contains(text, "hunter22") || !strings.Contains(text, `"name":"s"`) {
		t.Errorf("the file is\n%s", text)
	}
	open, _ := newCopy(t, Options{WithSecrets: true})
	if got := string(list(t, open, Scope{Resource: secrets}).Objects[0].JSON); !strings.Contains(got, "aHVudGVyMjI=") {
		t.Errorf("the copy with secrets has %s", got)
	}
	if err := open.Write(io.Discard); err == nil {
		t.Error("a copy with the values of Secrets is saved")
	}
}

func TestRead_ReturnsTheCopy(t *testing.T) {
	c, _ := newCopy(t, Options{Context: "prod"})
	list(t, c, Scope{Resource: pods})
	list(t, c, Scope{Resource: secrets})
	list(t, c, Scope{Resource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}})
	file := write(t, c)
	saved, err := Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%+v", saved.Summary().Resources), fmt.Sprintf("%+v", c.Summary().Resources); got != want {
		t.Errorf("the file has %s, want %s", got, want)
	}
	if s := saved.Summary(); s.Context != "prod" || s.Version != "v1.30.1" || s.Redacted != 1 || len(s.Refused) != 1 {
		t.Errorf("the file is described as %+v", s)
	}
	if again := unzip(t, write(t, saved)); again != unzip(t, file) {
		t.Error("the copy of the file is saved as another file")
	}
	if l := list(t, saved, Scope{Resource: schema.GroupVersionResource{Version: "v1", Resource: "events"}}); l.Refused == nil || l.Refused.Code != http.StatusForbidden || !strings.Contains(l.Refused.Message, "not in the copy") {
		t.Errorf("a resource that is not in the file has the refusal %+v", l.Refused)
	}
	if l := list(t, saved, Scope{Resource: schema.GroupVersionResource{Version: "v1beta1", Resource: "pods"}}); len(l.Objects) != 3 {
		t.Errorf("another version has %d objects, want 3", len(l.Objects))
	}
}

func TestRead_RefusesOtherFiles(t *testing.T) {
	c, _ := newCopy(t, Options{})
	list(t, c, Scope{Resource: pods})
	file := write(t, c)
	text := unzip(t, file)
	lines := strings.SplitAfter(text, "\n")
	cases := map[string]struct {
		file []byte
		want string
	}{
		"another kind of file":  {[]byte("apiVersion: v1\n"), "invalid header"},
		"another version":       {zipped(t, strings.Replace(text, `"kopfCopy":1`, `"kopfCopy":2`, 1)), "it has the format 2, and this kopf reads 1"},
		"no version":            {zipped(t, `{}`), "it has the format 0"},
		"a cut file":            {file[:len(file)-4], "unexpected EOF"},
		"a missing object":      {zipped(t, strings.Join(lines[:len(lines)-2], "")), "unexpected EOF"},
		"one listing too many":  {zipped(t, text+lines[1]), "more listings"},
		"no resource":           {zipped(t, lines[0]+`{"objects":0}`), "without a resource"},
		"an object of no shape": {zipped(t, strings.Join(lines[:len(lines)-2], "")+"[]\n"), "an object of pods"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(bytes.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}
