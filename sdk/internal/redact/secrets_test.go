package redact

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

const secret = `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db","annotations":{
	"x/last":"{\"data\":{\"old\":\"b2xkLXBhc3N3b3Jk\"}}","note":"kept"}},"type":"Opaque",
	"data":{"password":"aHVudGVyMi1odW50ZXIy","short":"eA==","empty":""},"stringData":{"pem":"line one\nline two"}}`

func secretsOf(t *testing.T, policy Policy, res *resources.Resource, text string) (*Secrets, map[string]any) {
	t.Helper()
	obj, err := object.Parse([]byte(text), object.ParseOptions{KeepManagedFields: true})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := obj.Tree()
	if err != nil {
		t.Fatal(err)
	}
	return policy.Of(res, obj), tree
}

func TestPolicy_OnlyObjectsWithSecretsAreTouched(t *testing.T) {
	pods := resources.Resource{Version: "v1", Plural: "pods"}
	if s := (&Policy{}).Of(&pods, &object.Object{}); s != nil {
		t.Errorf("pods have %+v", s)
	}
	if s := (&Policy{}).Of(&resources.Resource{Group: "example.com", Plural: "secrets"}, nil); s != nil {
		t.Errorf("secrets of others have %+v", s)
	}
	var none *Secrets
	tree := map[string]any{"data": "x"}
	if none.Value(nil, tree).(map[string]any)["data"] != "x" || none.Text("text") != "text" || none.Error(nil) != nil || none.Diff(nil) != nil {
		t.Error("nothing changes something")
	}
}

func TestSecrets_ValuesAreMarkedWhereverTheyAre(t *testing.T) {
	s, tree := secretsOf(t, Policy{}, &secrets, secret)
	want := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata":   map[string]any{"name": "db", "annotations": map[string]any{"x/last": `{"data":{"old":"[redacted]"}}`, "note": "kept"}},
		"data":       map[string]any{"password": Mark, "short": Mark, "empty": Mark},
		"stringData": map[string]any{"pem": Mark},
	}
	if diff := cmp.Diff(want, s.Value(nil, tree)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, (&Policy{}).Tree(tree)); diff != "" {
		t.Error(diff)
	}
	d := s.Diff(object.Diff{
		{Op: object.DiffChange, Path: object.Path{"data", "password"}, Old: "old", New: "new"},
		{Op: object.DiffAdd, Path: object.Path{"data"}, New: map[string]any{"a": "b"}},
		{Op: object.DiffRemove, Path: object.Path{"type"}, Old: "Opaque"},
	})
	if diff := cmp.Diff(object.Diff{
		{Op: object.DiffChange, Path: object.Path{"data", "password"}, Old: Mark, New: Mark},
		{Op: object.DiffAdd, Path: object.Path{"data"}, New: map[string]any{"a": Mark}},
		{Op: object.DiffRemove, Path: object.Path{"type"}, Old: "Opaque"},
	}, d); diff != "" {
		t.Error(diff)
	}
}

func TestSecrets_PayloadsOfBothKinds(t *testing.T) {
	s, _ := secretsOf(t, Policy{Fields: []object.Path{{"spec", "users", "password"}}}, &secrets, secret)
	type user struct {
		Name     string `json:"name"`
		Password string `json:"password"`
	}
	for _, body := range []any{
		map[string]any{"data": map[string]string{"a": "hidden"}, "spec": map[string]any{"users": []user{{"kept", "hidden"}}}},
		[]patch.Op{
			{Op: "add", Path: "/data/a~1b", Value: "hidden"}, {Op: "add", Path: "/data", Value: map[string]string{"a": "hidden"}},
			{Op: "replace", Path: "/spec/users/0/password", Value: "hidden"}, {Op: "add", Path: "/spec/users/-", Value: user{"kept", "hidden"}},
			{Op: "replace", Path: "/metadata/annotations/x", Value: `{"data":{"a":"hidden"},"x":"kept"}`},
			{Op: "remove", Path: "/data/x"},
		},
	} {
		text, err := json.Marshal(s.Payload(body))
		if err != nil || strings.Contains(string(text), "hidden") || !strings.Contains(string(text), "kept") {
			t.Errorf("%s, %v", text, err)
		}
		if err := s.Error(errors.New("the value hidden is invalid"), body); strings.Contains(err.Error(), "hidden") {
			t.Error(err)
		}
	}
}

func TestSecrets_ManagedFieldsNameNoItems(t *testing.T) {
	policy := Policy{Fields: []object.Path{{"spec", "tokens"}, {"spec", "users", "password"}}}
	const thing = `{"spec":{"tokens":["hunter2"],"users":[{"password":"hunter2"}]},"metadata":{"managedFields":[
		{"manager":"kubectl","time":"2026-01-02T03:04:05Z","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:example.com/a:b":{}}},
			"f:spec":{"f:tokens":{".":{},"v:\"hunter2\"":{},"v:\"hunter22\"":{}},
				"f:users":{"k:{\"password\":\"hunter2\"}":{".":{},"f:labels":{"f:hunter2":{}}}}}}},
		{"manager":"old","apiVersion":"x/v1beta1","fieldsV1":{"f:spec":{"f:auth":{"f:tokens":{"v:\"hunter2\"":{}}},"f:size":{}}}}]}}`
	s, tree := secretsOf(t, policy, &resources.Resource{Plural: "things"}, thing)
	_, want := secretsOf(t, policy, &resources.Resource{Plural: "things"}, `{"metadata":{"managedFields":[
		{"manager":"kubectl","time":"2026-01-02T03:04:05Z","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:example.com/a:b":{}}},
			"f:spec":{"f:tokens":{".":{},"[redacted]":{}},"f:users":{"[redacted]":{}}}}},
		{"manager":"old","apiVersion":"x/v1beta1","fieldsV1":{"f:spec":{"f:auth":{"f:tokens":{"[redacted]":{}}},"f:size":{}}}}]}}`)
	got := s.Value(nil, tree).(map[string]any)
	if diff := cmp.Diff(want["metadata"], got["metadata"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want["metadata"], policy.Tree(tree)["metadata"]); diff != "" {
		t.Error(diff)
	}
	quoted, err := json.Marshal(thing)
	if err != nil {
		t.Fatal(err)
	}
	_, applied := secretsOf(t, policy, &resources.Resource{Plural: "things"}, `{"metadata":{"annotations":{"last":`+string(quoted)+`}}}`)
	for _, shown := range []any{got, s.Value(nil, applied), s.Payload(tree), s.Payload([]patch.Op{
		{Op: "replace", Path: "/metadata", Value: tree["metadata"]},
		{Op: "add", Path: "/metadata/managedFields/0", Value: tree["metadata"].(map[string]any)["managedFields"].([]any)[0]},
	})} {
		if text := fmt.Sprint(shown); strings.Contains(text, "hunter2") || !strings.Contains(text, "kubectl") {
			t.Errorf("managed fields are %s", text)
		}
	}
	managers := Policy{Fields: []object.Path{{"metadata", "managedFields", "manager"}}}
	if text := fmt.Sprint(managers.Tree(tree)["metadata"]); strings.Contains(text, "kubectl") || strings.Contains(text, "hunter2") {
		t.Errorf("hidden managers are %s", text)
	}
	if whole := (&Policy{}).Tree(tree); !cmp.Equal(whole, tree) {
		t.Errorf("nothing is hidden in %v", whole)
	}
}

func TestSecrets_CopiesInTheSamePatchAndDiff(t *testing.T) {
	s := (&Policy{Fields: []object.Path{{"spec", "users", "password"}}}).Of(&resources.Resource{Plural: "things"})
	users := []any{map[string]any{"password": "hidden"}}
	for _, shown := range []any{
		s.Payload(map[string]any{"spec": map[string]any{"users": users}, "status": map[string]any{"fn": "with hidden"}}),
		s.Payload([]patch.Op{{Op: "add", Path: "/spec/users", Value: users}, {Op: "add", Path: "/status/fn", Value: "with hidden"}}),
		s.Payload([]patch.Op{{Op: "add", Path: "/status/was/0/spec/users/0/password", Value: "hidden"}}),
		s.Payload([]patch.Op{{Op: "add", Path: "/metadata/annotations/x~1failed", Value: `{"old":{"spec":{"users":[{"password":"hidden"}]}}}`}}),
		s.Diff(object.Diff{{Path: object.Path{"spec"}, Old: map[string]any{"users": users}}, {Path: object.Path{"status", "fn"}, New: "with hidden"}}),
		s.Diff(object.Diff{{Path: object.Path{"metadata", "annotations", "x/failed"}, New: `{"old":{"spec":{"users":[{"password":"hidden"}]}}}`}}),
	} {
		if text := fmt.Sprint(shown); strings.Contains(text, "hidden") || !strings.Contains(text, Mark) {
			t.Errorf("it shows %s", text)
		}
	}
}

func TestSecrets_PointersWithNumbersAreKeysOrIndices(t *testing.T) {
	policy := Policy{Fields: []object.Path{
		{"metadata", "labels", "1"}, {"spec", "keys", "7"}, {"spec", "hosts", "8080", "ports", "password"}, {"spec", "keys", "-"},
	}}
	s := policy.Of(&resources.Resource{Plural: "things"}, nil)
	for path, covered := range map[string]bool{
		"/metadata/labels/1": true, "/spec/keys/7": true, "/spec/keys/7/3/x": true, "/spec/keys/0/7": true, "/spec/keys/-": true,
		"/spec/hosts/0/8080/ports/0/password": true, "/spec/hosts/8080/ports/8080/password": true,
		"/metadata/labels/2": false, "/spec/keys/8": false, "/spec/hosts/8081/ports/0/password": false, "/spec/1": false, "/7": false,
	} {
		body := []patch.Op{{Op: "replace", Path: path, Value: "hidden"}}
		if got := s.Payload(body).([]patch.Op)[0].Value == Mark; got != covered {
			t.Errorf("the value at %s is hidden: %t", path, got)
		}
		if got := s.Text("hidden", body) == Mark; got != covered {
			t.Errorf("the value at %s is hidden in texts: %t", path, got)
		}
	}
	all := map[string]any{"metadata": map[string]any{"labels": map[string]any{"1": "hidden"}}}
	for path, value := range map[string]any{
		"": all, "/metadata": all["metadata"], "/spec/hosts/0": map[string]any{"8080": map[string]any{"ports": []any{map[string]any{"password": "hidden"}}}},
	} {
		body := []patch.Op{{Op: "replace", Path: path, Value: value}}
		if got := fmt.Sprint(s.Payload(body)); strings.Contains(got, "hidden") {
			t.Errorf("%q: %s", path, got)
		}
	}
	if many := s.at("/spec/hosts" + strings.Repeat("/8080", 1000)); len(many) > 10 {
		t.Errorf("%d paths for one pointer", len(many))
	}
}

func TestSecrets_TextsOfOthersAreSearched(t *testing.T) {
	s, _ := secretsOf(t, Policy{}, &secrets, secret)
	for _, value := range []string{"hunter2-hunter2", "aHVudGVyMi1odW50ZXIy", "old-password", "line one\nline two", `line one\nline two`, "line two"} {
		if got := s.Text("the value " + value + " is bad"); got != "the value [redacted] is bad" {
			t.Errorf("%q: %s", value, got)
		}
	}
	if got := s.Text("x is kept, as is Opaque"); got != "x is kept, as is Opaque" {
		t.Error(got)
	}
	cause := errors.New("cause")
	err := s.Error(fmt.Errorf("hunter2-hunter2: %w", cause))
	if err.Error() != "[redacted]: cause" || !errors.Is(err, cause) {
		t.Error(err)
	}
	if s.Error(cause) != cause {
		t.Error("another error is changed")
	}
}

func TestSecrets_MismatchesOfHiddenFields(t *testing.T) {
	policy := Policy{Fields: []object.Path{{"spec", "password"}, {"metadata", "labels", "pin"}}}
	s, _ := secretsOf(t, policy, &resources.Resource{Plural: "things"}, `{"spec":{"password":"hunter2"},"metadata":{"labels":{"pin":"1234"}}}`)
	for _, tt := range []struct{ is, want handlers.Mismatch }{
		{handlers.Mismatch{Kind: handlers.MismatchValue, Path: "spec.password", Is: "a", Wants: "b"}, handlers.Mismatch{Kind: handlers.MismatchValue, Path: "spec.password", Is: Mark, Wants: Mark}},
		{handlers.Mismatch{Kind: handlers.MismatchField, Path: "spec", Is: "{}", Wants: "changed"}, handlers.Mismatch{Kind: handlers.MismatchField, Path: "spec", Is: Mark, Wants: "changed"}},
		{handlers.Mismatch{Kind: handlers.MismatchLabel, Path: "pin", Absent: true, Wants: "b"}, handlers.Mismatch{Kind: handlers.MismatchLabel, Path: "pin", Absent: true, Wants: Mark}},
		{handlers.Mismatch{Kind: handlers.MismatchValue, Path: "spec.size", Is: "a", Wants: "b"}, handlers.Mismatch{Kind: handlers.MismatchValue, Path: "spec.size", Is: "a", Wants: "b"}},
		{handlers.Mismatch{Kind: handlers.MismatchReason, Is: "create", Wants: "update"}, handlers.Mismatch{Kind: handlers.MismatchReason, Is: "create", Wants: "update"}},
	} {
		if diff := cmp.Diff(tt.want, s.Mismatch(tt.is)); diff != "" {
			t.Error(diff)
		}
	}
}

func FuzzSecrets(f *testing.F) {
	f.Add([]byte(secret), "error: hunter2-hunter2", "/data/password")
	f.Add([]byte(`{"data":{"a":["{\"data\":1}"]},"metadata":{"annotations":{"x":"{"}}}`), "", "//~1~0/-/1")
	f.Fuzz(func(t *testing.T, raw []byte, text, path string) {
		obj, err := object.Parse(raw, object.ParseOptions{})
		if err != nil {
			return
		}
		tree, err := obj.Tree()
		if err != nil {
			return
		}
		s := (&Policy{Fields: []object.Path{{"spec", "a"}}}).Of(&secrets, obj)
		shown, _ := s.Value(nil, tree).(map[string]any)
		if len(shown) != len(tree) {
			t.Fatalf("%s became %v", raw, shown)
		}
		for _, field := range []string{"data", "stringData"} {
			switch v := shown[field].(type) {
			case nil, map[string]any:
			default:
				if v != Mark {
					t.Fatalf("%s shows %v", raw, v)
				}
			}
		}
		s.Payload([]patch.Op{{Op: "add", Path: path, Value: tree}})
		s.Text(text, tree, []patch.Op{{Op: "add", Path: path, Value: tree}})
	})
}
