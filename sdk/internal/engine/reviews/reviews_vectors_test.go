package reviews

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

// recordedReview is a review with the response of Kopf for Python.
type recordedReview struct {
	Kind    string          `json:"kind"`
	Request json.RawMessage `json:"request"`
	Webhook string          `json:"webhook_hint"`
	Reason  string          `json:"reason_hint"`
	Called  []string        `json:"handlers_called"`
	Mutated map[string]any  `json:"mutated_object"`
	Error   string          `json:"error"`

	Response struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Response   map[string]any `json:"response"`
	} `json:"response"`
}

// calledIDs are the ids of the handlers that were called.
type calledIDs struct {
	mu  sync.Mutex
	ids []string
}

func (c *calledIDs) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := c.ids
	c.ids = nil
	return ids
}

// recordedRegistry returns the handlers with which the reviews were recorded.
func recordedRegistry(called *calledIDs) *handlers.Registry {
	r := &handlers.Registry{}
	add := func(id string, family handlers.Family, h handlers.Handler, act func(*handlers.Call) error) {
		h.ID, h.Family, h.Fn = handlers.MakeID(family, "", id, h.Field), family, id
		h.Selector = resources.Selector{Group: "kopf.dev", Plural: "kopfexamples"}
		h.Invoke = func(_ context.Context, call *handlers.Call) (any, error) {
			called.mu.Lock()
			called.ids = append(called.ids, call.Handler.ID)
			called.mu.Unlock()
			if act == nil {
				return nil, nil
			}
			return nil, act(call)
		}
		r.Add(&h)
	}
	options := func(o handlers.AdmissionOptions) handlers.Handler { return handlers.Handler{Admission: o} }
	add("v_all", handlers.Validate, handlers.Handler{}, nil)
	add("v_deny", handlers.Validate, handlers.Handler{Labels: map[string]handlers.Criterion{"deny": handlers.EqualStringCriterion("yes")}},
		func(call *handlers.Call) error {
			call.Warn([]string{"W"})
			return handlers.AsDenial(errors.New("denied"), 418)
		})
	add("v_create", handlers.Validate, options(handlers.AdmissionOptions{Operations: []string{"CREATE"}}), nil)
	add("v_sub", handlers.Validate, options(handlers.AdmissionOptions{Subresource: "status"}), nil)
	add("v_anysub", handlers.Validate, options(handlers.AdmissionOptions{Subresource: "*"}), nil)
	add("m_set", handlers.Mutate, handlers.Handler{}, func(call *handlers.Call) error {
		call.Patch.Set(object.Path{"spec", "mutated"}, true)
		call.Patch.Set(object.Path{"metadata", "labels", "x/y"}, "z")
		return nil
	})
	add("m_del", handlers.Mutate, options(handlers.AdmissionOptions{Operations: []string{"DELETE"}}), nil)
	on := handlers.EqualStringCriterion("on")
	add("m_old", handlers.Mutate, handlers.Handler{Field: object.Path{"spec", "f"}, Value: &on}, func(call *handlers.Call) error {
		call.Patch.Set(object.Path{"spec", "f"}, "off")
		return nil
	})
	return r
}

func testReviews(t testing.TB, registry *handlers.Registry, served ...resources.Resource) *Reviews {
	t.Helper()
	d := enginetest.BareDeps(t, registry, slog.New(slog.DiscardHandler))
	r := newTestReviews(t, d, &memory.Memories{})
	r.Serve(served, nil)
	return r
}

func newTestReviews(t testing.TB, d *core.Deps, m *memory.Memories) *Reviews {
	t.Helper()
	return NewAdmissionControl(t.Context(), d, m, call.NewInvoker(d.Now, d.Sink, 0), "me", true).(*Reviews)
}

var kex = resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Preferred: true}

// ask sends a review to a path.
func ask(t *testing.T, r *Reviews, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body)))
	return w
}

func TestVectors_Reviews(t *testing.T) {
	var called calledIDs
	all := recordedRegistry(&called)
	families := map[string]*Reviews{}
	for reason, family := range map[string]handlers.Family{"": "", "validating": handlers.Validate, "mutating": handlers.Mutate} {
		registry := &handlers.Registry{}
		for _, h := range all.All() {
			if family == "" || h.Family == family { // as if the reviews of the other family had another address
				registry.Add(h)
			}
		}
		families[reason] = testReviews(t, registry, kex)
	}
	vectors.Run(t, "admission.json", func(t *testing.T, v *recordedReview) error {
		switch v.Kind {
		case "serve", "serve-bad":
		default:
			return vectors.Skip()
		}
		w := ask(t, families[v.Reason], "/"+v.Webhook, string(v.Request))
		ids := called.take()
		if v.Error != "" {
			if w.Code < 400 {
				return fmt.Errorf("answered %d: %s", w.Code, w.Body)
			}
			return nil
		}
		if w.Code == http.StatusNotImplemented && !slices.ContainsFunc(all.All(), func(h *handlers.Handler) bool { return h.ID == v.Webhook }) {
			return vectors.Differs("the operator has no such handler")
		}
		if w.Code != http.StatusOK {
			return fmt.Errorf("answered %d: %s", w.Code, w.Body)
		}
		if diff := cmp.Diff(v.Called, ids, cmp.Transformer("list", func(l []string) []string { return slices.Concat([]string{}, l) })); diff != "" {
			return fmt.Errorf("handlers: %s", diff)
		}
		return v.compare(w.Body.Bytes())
	})
}

// compare compares a response with the recorded one. Patches are equal if they produce the same object.
func (v *recordedReview) compare(body []byte) error {
	got := *v
	got.Response.Response = nil
	if err := json.Unmarshal(body, &got.Response); err != nil {
		return err
	}
	want := v.Response
	if encoded, ok := got.Response.Response["patch"].(string); ok {
		var review struct {
			Request struct{ Object any }
		}
		if err := json.Unmarshal(v.Request, &review); err != nil {
			return err
		}
		text, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return err
		}
		var ops []struct {
			Op, Path string
			Value    any
		}
		if err := json.Unmarshal(text, &ops); err != nil {
			return err
		}
		for _, op := range ops {
			target := review.Request.Object.(map[string]any)
			keys := strings.Split(strings.TrimPrefix(op.Path, "/"), "/")
			for _, key := range keys[:len(keys)-1] {
				target = target[key].(map[string]any)
			}
			target[strings.ReplaceAll(keys[len(keys)-1], "~1", "/")] = op.Value
		}
		mutated, err := json.Marshal(v.Mutated)
		if err != nil {
			return err
		}
		var wanted any
		if err := json.Unmarshal(mutated, &wanted); err != nil {
			return err
		}
		if diff := cmp.Diff(wanted, review.Request.Object); diff != "" {
			return fmt.Errorf("object: %s", diff)
		}
		got.Response.Response["patch"] = want.Response["patch"]
	}
	text, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &want); err != nil {
		return err
	}
	normalize(want.Response)
	normalize(got.Response.Response)
	if !reflect.DeepEqual(want, got.Response) {
		return errors.New(cmp.Diff(want, got.Response))
	}
	return nil
}

// normalize converts all numbers of the response to floats.
func normalize(response map[string]any) {
	if status, ok := response["status"].(map[string]any); ok {
		if code, ok := status["code"].(int64); ok {
			status["code"] = float64(code)
		}
	}
}
