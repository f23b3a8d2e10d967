package question

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

const finalizer = "example.com/finalizer"

var (
	claims  = schema.GroupResource{Group: "kopf.dev", Resource: "claims"}
	volumes = schema.GroupResource{Resource: "persistentvolumeclaims"}

	described = []inspect.Description{{Finalizer: finalizer, Permissions: []inspect.Permission{
		{Group: "kopf.dev", Resource: "claims", Purpose: inspect.HandledObjects}, {Group: "kopf.dev", Resource: "claims/status", Purpose: inspect.HandledObjects},
		{Resource: "persistentvolumeclaims", Purpose: "children"},
	}}}
)

// changed returns an object after a change, as JSON.
func changed(t *testing.T, change Change, resource schema.GroupResource, text string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(change(resource, object))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestCreate_HandledObjectsLookNew(t *testing.T) {
	create := Create(described)
	got := changed(t, create, claims, `{"metadata":{"annotations":{"example.com/last-handled-configuration":"{}",
		"kopf.zalando.org/x":"{\"started\":\"\",\"retries\":0,\"success\":false,\"failure\":false}","mine":"1"},
		"finalizers":["`+finalizer+`","other"]},"spec":{"size":1},"status":{"done":true}}`)
	if want := `{"metadata":{"annotations":{"mine":"1"},"finalizers":["other"]},"spec":{"size":1}}`; got != want {
		t.Errorf("got %s", got)
	}
	for text, want := range map[string]string{
		`{"metadata":{"ownerReferences":[{"apiVersion":"kopf.dev/v1","kind":"Claim"}]}}`: "null",
		`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Claim"}]}}`:     `{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"Claim"}]}}`,
		`{"metadata":{"annotations":{"kopf.dev/x":""}},"status":{}}`:                     `{"metadata":{"annotations":{"kopf.dev/x":""}},"status":{}}`,
		`{"metadata":{"labels":{"kopf.dev/owned-by":"claims.kopf.dev"}}}`:                "null", // a child in another namespace
		`{"metadata":{"labels":{"kopf.dev/owned-by":"claims.apps"}}}`:                    `{"metadata":{"labels":{"kopf.dev/owned-by":"claims.apps"}}}`,
	} {
		if got := changed(t, create, volumes, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := changed(t, create, claims, `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}}`); got != "null" {
		t.Errorf("in deletion: %s", got)
	}
}

func TestCreate_AnnotationsOfUsersAndHandlersStay(t *testing.T) {
	const kept = `{"metadata":{"annotations":{"example.com/applied":"yes","example.com/config":"{\"host\":1}\n","example.com/note":"{}","kopf.dev/paused":"an incident","kopf.zalando.org/note":""}}}`
	if got := changed(t, Create(described), claims, kept); got != kept {
		t.Errorf("got %s", got)
	}
}

// TestCreate_StateUnderAnotherName has names that a startup handler sets, and names that the operator describes.
func TestCreate_StateUnderAnotherName(t *testing.T) {
	reporting := slices.Clone(described)
	reporting[0].Records = [][]string{{"metadata", "annotations", "any.com/state"}, {"spec", "state"}}
	for text, want := range map[string]string{
		`{"metadata":{"annotations":{"example.com/our-state":"{\"spec\":{},\"status\":{}}\n","x":""}},"spec":{},"status":{}}`:           `{"metadata":{"annotations":{"x":""}},"spec":{}}`,
		`{"metadata":{"annotations":{"acme.com/kopf-managed":"yes","acme.com/our-state":"{\"spec\":{}}\n","acme.com/x":""}},"spec":{}}`: `{"metadata":{"annotations":{"acme.com/x":""}},"spec":{}}`,
		`{"metadata":{"annotations":{"any.com/state":"?","any.com/x":""}},"spec":{"size":1,"state":"?"}}`:                               `{"metadata":{"annotations":{"any.com/x":""}},"spec":{"size":1}}`,
	} {
		if got := changed(t, Create(reporting), claims, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestDelete_ObjectsWithFinalizersAreInDeletion(t *testing.T) {
	remove := Delete(described, time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC))
	for text, want := range map[string]string{
		`{"metadata":{"finalizers":["x"]}}`:                                            `{"metadata":{"deletionGracePeriodSeconds":0,"deletionTimestamp":"2026-11-27T12:00:00Z","finalizers":["x"]}}`,
		`{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x"]}}`: `{"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x"]}}`,
		`{"metadata":{}}`: "null",
	} {
		if got := changed(t, remove, claims, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if got := changed(t, remove, volumes, `{"metadata":{"finalizers":["x"]}}`); got != `{"metadata":{"finalizers":["x"]}}` {
		t.Errorf("not handled: %s", got)
	}
}
