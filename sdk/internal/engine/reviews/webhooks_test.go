package reviews

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// configurations is an API server that only has webhook configurations.
type configurations struct {
	mu       sync.Mutex
	objects  map[string]map[string]any // configurations by their paths
	requests []string
	refuse   func(method, path string) int // status of a refusal; 0 for none
	writes   int

	backoffs []time.Duration // backoffs of the client
}

func (c *configurations) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var object map[string]any
	_ = json.Unmarshal(body, &object)
	path := r.URL.Path[strings.LastIndex(r.URL.Path, "/v1/")+len("/v1/"):]
	c.requests = append(c.requests, r.Method+" "+path)
	if c.refuse != nil {
		if code := c.refuse(r.Method, path); code != 0 {
			http.Error(w, "no", code)
			return
		}
	}
	switch r.Method {
	case http.MethodPost:
		path += "/" + object["metadata"].(map[string]any)["name"].(string)
		if c.objects[path] != nil {
			http.Error(w, "exists", http.StatusConflict)
			return
		}
		c.objects[path] = map[string]any{"metadata": map[string]any{"resourceVersion": "1"}}
		c.merge(path, object)
	case http.MethodPatch:
		stored := c.objects[path]
		if stored == nil {
			http.Error(w, "absent", http.StatusNotFound)
			return
		}
		meta, _ := object["metadata"].(map[string]any)
		if version := meta["resourceVersion"]; version != nil && version != stored["metadata"].(map[string]any)["resourceVersion"] {
			http.Error(w, "another version", http.StatusConflict)
			return
		}
		if len(object) > 0 {
			c.merge(path, object)
		}
	}
	_ = json.NewEncoder(w).Encode(c.objects[path])
}

// merge applies a merge patch.
func (c *configurations) merge(path string, change map[string]any) {
	stored := c.objects[path]
	meta := stored["metadata"].(map[string]any)
	if webhooks := change["webhooks"]; webhooks != nil {
		stored["webhooks"] = webhooks
	}
	changed, _ := change["metadata"].(map[string]any)
	for key, value := range changed {
		values, ok := value.(map[string]any)
		if !ok {
			meta[key] = value
			continue
		}
		if meta[key] == nil {
			meta[key] = map[string]any{}
		}
		for name, value := range values {
			if value == nil {
				delete(meta[key].(map[string]any), name)
			} else {
				meta[key].(map[string]any)[name] = value
			}
		}
	}
	c.writes++
	meta["resourceVersion"] = strconv.Itoa(c.writes + 1)
}

// names returns the names of the webhooks at a path; nil if there is no configuration.
func (c *configurations) names(path string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	object := c.objects[path]
	if object == nil {
		return nil
	}
	names := []string{}
	for _, w := range object["webhooks"].([]any) {
		names = append(names, w.(map[string]any)["name"].(string))
	}
	return names
}

func (c *configurations) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.requests
	c.requests = nil
	return all
}

func testWebhooks(t *testing.T, c *configurations, log io.Writer, hs ...handlers.Handler) *webhooks {
	t.Helper()
	if c.objects == nil {
		c.objects = map[string]map[string]any{}
	}
	api := httptest.NewServer(c)
	t.Cleanup(api.Close)
	given, err := kube.NewConfigSource(&rest.Config{Host: api.URL}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(given.Close)
	d := enginetest.BareDeps(t, admissionHandlers(hs...), slog.New(slog.NewTextHandler(log, nil)))
	d.Client = kube.NewClient(given, kube.ClientOptions{Backoffs: slices.Values(c.backoffs)})
	d.Settings.Admission.Managed = "a.dev"
	w := newWebhooks(d, "me")
	w.announced(admission.ClientConfig{URL: "https://h"})
	w.serve([]resources.Resource{kex}, nil)
	return w
}

func (w *webhooks) writeNow(t *testing.T) error {
	t.Helper()
	options, ok := w.options()
	if !ok {
		t.Fatal("not everything is known")
	}
	return w.write(t.Context(), options)
}

const validatingPath, mutatingPath = "validatingwebhookconfigurations/a.dev", "mutatingwebhookconfigurations/a.dev"

func TestWebhooks_CreatedThenPatchedThenStripped(t *testing.T) {
	c := &configurations{}
	w := testWebhooks(t, c, t.Output(), handlers.Handler{ID: "lasting", Admission: handlers.AdmissionOptions{Persistent: true}},
		handlers.Handler{ID: "passing"}, handlers.Handler{ID: "inject", Family: handlers.Mutate})
	for range 2 {
		if err := w.writeNow(t); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"PATCH " + validatingPath, "POST validatingwebhookconfigurations", "PATCH " + mutatingPath, "POST mutatingwebhookconfigurations",
		"PATCH " + validatingPath, "PATCH " + validatingPath, "PATCH " + mutatingPath, "PATCH " + mutatingPath, // one read and one write per family
	}
	if got := c.take(); !slices.Equal(got, want) {
		t.Errorf("requests: %q", got)
	}
	if got := c.names(validatingPath); !slices.Equal(got, []string{"lasting.a.dev", "passing.a.dev"}) {
		t.Errorf("validating: %q", got)
	}
	w.withdraw(t.Context())
	if got := append(c.names(validatingPath), c.names(mutatingPath)...); !slices.Equal(got, []string{"lasting.a.dev"}) {
		t.Errorf("after the end: %q", got)
	}
}

func TestWebhooks_LeftoversOfRemovedHandlersAreEmptied(t *testing.T) {
	c := &configurations{objects: map[string]map[string]any{
		mutatingPath: {"metadata": map[string]any{"name": "a.dev", "resourceVersion": "1"}, "webhooks": []any{map[string]any{"name": "former.a.dev"}}},
	}}
	w := testWebhooks(t, c, t.Output(), handlers.Handler{ID: "check"})
	if err := w.writeNow(t); err != nil {
		t.Fatal(err)
	}
	if got := c.names(mutatingPath); got == nil || len(got) != 0 {
		t.Errorf("mutating: %q", got)
	}
}

func TestWebhooks_FamilyWithoutHandlersNeedsNoPermission(t *testing.T) {
	var log bytes.Buffer
	c := &configurations{backoffs: []time.Duration{0, 0}, refuse: func(_, path string) int {
		if strings.HasPrefix(path, "mutating") {
			return 403
		}
		return 0
	}}
	w := testWebhooks(t, c, &log, handlers.Handler{ID: "check"})
	if err := w.writeNow(t); err != nil {
		t.Error(err)
	}
	want := []string{"PATCH " + validatingPath, "POST validatingwebhookconfigurations", "PATCH " + mutatingPath}
	if got := c.take(); !slices.Equal(got, want) || strings.Contains(log.String(), "mutating") {
		t.Errorf("requests: %q, log: %s", got, &log)
	}
}

func TestWebhooks_RefusalsAreToldOnceAndRetried(t *testing.T) {
	for _, code := range []int{403, 404, 409, 422, 429, 500} {
		var log bytes.Buffer
		refusing := true
		c := &configurations{refuse: func(_, path string) int {
			if refusing && strings.HasPrefix(path, "validating") {
				return code
			}
			return 0
		}}
		w := testWebhooks(t, c, &log, handlers.Handler{ID: "check"}, handlers.Handler{ID: "inject", Family: handlers.Mutate})
		validating, mutating := w.configurations[0], w.configurations[1]
		for range 3 {
			if err := w.writeNow(t); err == nil {
				t.Errorf("%d: no error", code)
			}
		}
		if n := strings.Count(log.String(), "Cannot configure the validating webhook a.dev"); n != 1 {
			t.Errorf("%d: told %d times: %s", code, n, &log)
		}
		if code == 403 && !strings.Contains(log.String(), "allow the operator to create and patch validatingwebhookconfigurations") {
			t.Errorf("no advice: %s", &log)
		}
		if validating.state.State != inspect.WebhookFailed || mutating.state.State != inspect.WebhookInstalled {
			t.Errorf("%d: %+v, %+v", code, validating.state, mutating.state)
		}
		refusing = false
		if err := w.writeNow(t); err != nil || validating.state.State != inspect.WebhookInstalled {
			t.Errorf("%d: %v, %+v", code, err, validating.state)
		}
	}
}

func TestWebhooks_TwoOperatorsCreateAtOnce(t *testing.T) {
	c := &configurations{}
	first := true
	c.refuse = func(method, path string) int {
		if method == http.MethodPatch && first { // the other operator creates the configuration after this request
			first = false
			c.objects[path] = map[string]any{"metadata": map[string]any{"name": "a.dev", "resourceVersion": "1"}, "webhooks": []any{}}
			return http.StatusNotFound
		}
		return 0
	}
	w := testWebhooks(t, c, t.Output(), handlers.Handler{ID: "check"})
	if err := w.writeNow(t); err != nil {
		t.Fatal(err)
	}
	if got := c.names(validatingPath); !slices.Equal(got, []string{"check.a.dev"}) {
		t.Errorf("validating: %q", got)
	}
}

func TestWebhooks_DevelopmentSessionsAreMarkedAndStay(t *testing.T) {
	c := &configurations{}
	w := testWebhooks(t, c, t.Output(), handlers.Handler{ID: "check", Admission: handlers.AdmissionOptions{Persistent: true}})
	w.deps.Settings.Admission.Session, w.known.Development = "s1", true
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	w.deps.Now = func() time.Time { return now }
	const path = "validatingwebhookconfigurations/s1.a.dev"
	expires := func() any {
		if err := w.writeNow(t); err != nil {
			t.Fatal(err)
		}
		meta := c.objects[path]["metadata"].(map[string]any)
		if meta["labels"].(map[string]any)[admission.SessionLabel] != "s1" {
			t.Errorf("%v", meta)
		}
		return meta["annotations"].(map[string]any)[admission.ExpiryKey]
	}
	if got := expires(); got != "2026-01-31T12:05:00Z" {
		t.Errorf("expires %v", got)
	}
	now = now.Add(time.Minute)
	if got := expires(); got != "2026-01-31T12:06:00Z" {
		t.Errorf("expires %v", got)
	}
	w.withdraw(t.Context())
	if got := c.names(path); !slices.Equal(got, []string{"check.a.dev"}) {
		t.Errorf("after the end: %q", got)
	}
	if policy := c.objects[path]["webhooks"].([]any)[0].(map[string]any)["failurePolicy"]; policy != "Ignore" {
		t.Errorf("the failure policy is %v", policy)
	}
}
