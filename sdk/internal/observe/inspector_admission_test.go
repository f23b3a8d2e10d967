package observe

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"encoding/json"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestInspector_ReviewsOfSecretsAreRedacted(t *testing.T) {
	hub := inspector.NewHub(inspector.HubOptions{})
	i := NewInspector(InspectorOptions{Hub: hub, Registry: &handlers.Registry{}, Indices: new(index.Indices), Started: time.Now()})
	res := &resources.Resource{Version: "v1", Plural: "secrets", Kind: "Secret"}
	parse := func(password string) *object.Object {
		o, err := object.Parse([]byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"stringData":{"password":"`+password+`"}}`), object.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	request := &admission.Request{UID: "u1"}
	request.Object, request.Old, request.Operation = parse("new-password"), parse("old-password"), "UPDATE"
	request.User.Username = "me"
	policy := redact.Policy{}
	h := &handlers.Handler{ID: "check", Family: handlers.Validate}
	i.Receive(ReviewEnded{
		Subject: &Subject{Resource: res, Object: request.Object, Logger: slog.New(slog.DiscardHandler), Secrets: policy.Of(res, request.Object)},
		Request: request, ID: "1",
		Response: &admission.Response{Code: 500, Message: "new-password is not old-password", Warnings: []string{"old-password was better"}},
		Diff:     object.Diff{{Op: object.DiffChange, Path: object.Path{"stringData", "password"}, Old: "new-password", New: "old-password"}},
		Handlers: []ReviewedHandler{{Handler: h, Err: errors.New("old-password")}},
	})
	reviews := hub.Snapshot().Reviews
	text, err := json.Marshal(reviews)
	if err != nil || strings.Contains(string(text), "-password") {
		t.Errorf("%s, %v", text, err)
	}
	if r := reviews[0]; r.Message != "[redacted] is not [redacted]" || r.Object.Name != "db" || r.User.Name != "me" || len(r.Patch) != 1 ||
		r.Handlers[0].Error.Kind != inspect.ErrorArbitrary {
		t.Errorf("%+v", r)
	}
}
