package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// eventAbout creates a Kubernetes event about an object.
func eventAbout(cluster *kopftest.Cluster, name string, ref inspect.Ref, kind, message string) {
	cluster.T().Helper()
	cluster.Create(tree{
		"apiVersion": "v1", "kind": "Event", "metadata": tree{"name": name}, "type": "Warning", "reason": "Odd", "message": message,
		"involvedObject": tree{"kind": kind, "name": ref.Name, "namespace": ref.Namespace, "uid": ref.UID},
	})
}

// refOf waits until the operator knows an object.
func refOf(op *kopftest.Operator, name string) (ref inspect.Ref) {
	op.T().Helper()
	op.WaitInspect("it knows "+name, func(s *inspect.Snapshot) bool {
		for _, o := range s.Objects {
			if o.Name == name {
				ref = o.Ref
			}
		}
		return ref.Name != ""
	})
	return ref
}

// asText returns the inspector's answer as JSON.
func asText[T any](t *testing.T) func(served T, err error) string {
	return func(served T, err error) string {
		t.Helper()
		text, failed := json.Marshal(served)
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// withListsOfSecrets is a schema with lists whose items the API server names by their values in managed fields.
var withListsOfSecrets = tree{
	"type": "object", "x-kubernetes-preserve-unknown-fields": true,
	"properties": tree{"spec": tree{
		"type": "object", "x-kubernetes-preserve-unknown-fields": true,
		"properties": tree{
			"tokens": tree{"type": "array", "x-kubernetes-list-type": "set", "items": tree{"type": "string"}},
			"users": tree{
				"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"password"},
				"items": tree{
					"type": "object", "required": []any{"password"},
					"properties": tree{"password": tree{"type": "string"}, "name": tree{"type": "string"}},
				},
			},
		},
	}},
}

func TestInspector_ServesObjectsAndEventsWithoutSecrets(t *testing.T) {
	cluster := newCluster(t)
	own := kex
	own.group = cluster.Namespace + ".kopf.dev"
	own.defineAs(cluster, withListsOfSecrets)
	const word, data = "open-sesame", "of-the-secret"
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, own.selector(), func(context.Context, *event) error { return nil }, kopf.ID("seen"))
		kopf.OnEvent(r, kopf.Resource("v1", "secrets"), func(context.Context, *event) error { return nil }, kopf.ID("seen"))
	}, func(o *kopf.Operator) {
		o.Settings.Redaction.Fields = []kopf.Path{"spec.password", "spec.tokens", "spec.users.password"}
	}, serving(cluster.Namespace))
	client := op.Inspector()

	x := own.of(example("x"))
	spec := x["spec"].(tree)
	spec["password"], spec["tokens"], spec["users"] = word, []any{word, word + "-too"}, []any{tree{"password": word, "name": "me"}}
	object := cluster.Create(x)
	ref := refOf(op, "x")
	text := asText[map[string]any](t)(client.Object(t.Context(), ref))
	for _, part := range []string{
		`"kind":"KopfExample"`, `"field":"value"`, `"password":"[redacted]"`, `"tokens":"[redacted]"`, `"name":"me"`,
		`"f:field":{}`, `"f:tokens":{".":{},"[redacted]":{}}`, `"f:users":{".":{},"[redacted]":{}}`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not in the object: %s", part, text)
		}
	}
	if strings.Contains(text, word) {
		t.Errorf("the object shows what is hidden: %s", text)
	}
	eventAbout(cluster, "about-x", ref, "KopfExample", "cannot log in with "+word)
	other := ref
	other.UID = "of-a-former-one"
	eventAbout(cluster, "about-a-former-one", other, "KopfExample", "it had this name")
	text = asText[[]map[string]any](t)(client.Events(t.Context(), ref))
	if !strings.Contains(text, "cannot log in with [redacted]") || strings.Contains(text, word) || strings.Contains(text, "it had this name") ||
		strings.Contains(text, "managedFields") {
		t.Errorf("the events are %s", text)
	}

	secret := cluster.Create(tree{"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": "s"}, "stringData": tree{"key": data}})
	ref = refOf(op, "s")
	eventAbout(cluster, "about-s", ref, "Secret", "it has "+data)
	text = asText[map[string]any](t)(client.Object(t.Context(), ref)) + asText[[]map[string]any](t)(client.Events(t.Context(), ref))
	if !strings.Contains(text, `"key":"[redacted]"`) || !strings.Contains(text, "it has [redacted]") ||
		strings.Contains(text, data) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(data))) {
		t.Errorf("the secret and its events are %s", text)
	}
	secret.Delete()

	// The operator may read other objects of the resource, but they are not its own.
	unknown := inspect.Ref{Resource: own.key(), Namespace: "default", Name: "x", UID: "1"}
	object.Delete()
	remembers(op, 0)
	for _, ref := range []inspect.Ref{unknown, ref, {}} {
		_, err := client.Object(t.Context(), ref)
		if unreadable, ok := errors.AsType[*inspect.UnreadableError](err); !ok {
			t.Errorf("%+v: the object is read: %v", ref, err)
		} else if ref.Name != "" && !strings.HasPrefix(unreadable.Reason, "404 not found: "+ref.Name) {
			t.Errorf("%+v: %s", ref, unreadable.Reason)
		}
		if _, err := client.Events(t.Context(), ref); err == nil {
			t.Errorf("%+v: the events are read", ref)
		}
	}
}

func TestInspector_MissingPermissionForEventsIsNamed(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnEvent(r, kexes, func(context.Context, *event) error { return nil }, kopf.ID("seen"))
	}, connect(restricted(cluster)))
	cluster.Create(example("x"))
	ref := refOf(op, "x")
	if text := asText[map[string]any](t)(op.Inspector().Object(t.Context(), ref)); !strings.Contains(text, `"field":"value"`) {
		t.Errorf("the object is %s", text)
	}
	_, err := op.Inspector().Events(t.Context(), ref)
	if err == nil || !strings.HasPrefix(err.Error(), "403 forbidden: events is forbidden: ") || !strings.HasSuffix(err.Error(), "; allow the operator to list events, or use kubectl events") {
		t.Errorf("the error is %v", err)
	}
	if alarms := op.Inspect().Operator.Alarms; len(alarms) > 0 {
		t.Errorf("a reader has raised the alarms %+v", alarms)
	}
}
