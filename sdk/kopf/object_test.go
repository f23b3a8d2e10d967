package kopf_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

type tree = map[string]any

func object(t testing.TB, text string) *kopf.Object {
	t.Helper()
	o := &kopf.Object{}
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return o
}

const manifest = `{
	"apiVersion": "kopf.dev/v1", "kind": "KopfExample",
	"metadata": {"name": "a", "labels": {"app.kubernetes.io/name": "x"}},
	"spec": {"size": 3, "ratio": 0.5, "big": 9007199254740993, "on": true, "none": null, "items": [{"name": "first"}, {"name": "second"}]}
}`

func TestObject_GetByPath(t *testing.T) {
	o := object(t, manifest)
	for path, want := range map[kopf.Path]any{
		"metadata.name": "a",
		"metadata.labels[app.kubernetes.io/name]": "x",
		"spec.size":          int64(3),
		"spec.ratio":         0.5,
		"spec.big":           int64(9007199254740993),
		"spec.on":            true,
		"spec.none":          nil,
		"spec.absent":        nil,
		"spec.absent.deeper": nil,
		"spec.size.deeper":   nil,
		"spec.items[1].name": "second",
		"spec.items[7].name": nil,
		"spec[":              nil,
		"spec.items[0]":      tree{"name": "first"},
	} {
		if diff := cmp.Diff(want, o.Get(path)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
}

func TestObject_NilIsEmpty(t *testing.T) {
	var o *kopf.Object
	size := 5
	if err := o.Decode("spec.size", &size); err != nil || size != 5 {
		t.Errorf("got %v, %v", size, err)
	}
	if got := o.Get("spec"); got != nil {
		t.Errorf("got %v", got)
	}
	if got := kopf.GetOr(o, "spec.size", 7); got != 7 {
		t.Errorf("got %v", got)
	}
	if raw, err := json.Marshal(o); err != nil || string(raw) != "null" {
		t.Errorf("got %s, %v", raw, err)
	}
}

func TestGetOr_DefaultForAbsentOrMistyped(t *testing.T) {
	o := object(t, manifest)
	if got := kopf.GetOr(o, "spec.size", 60); got != 3 {
		t.Errorf("an int: got %v", got)
	}
	if got := kopf.GetOr(o, "spec.size", "large"); got != "large" {
		t.Errorf("of another kind: got %v", got)
	}
	if got := kopf.GetOr(o, "spec.absent", 60*time.Second); got != time.Minute {
		t.Errorf("absent: got %v", got)
	}
	if got := kopf.GetOr(o, "spec.items[0]", map[string]string{}); got["name"] != "first" {
		t.Errorf("a map: got %v", got)
	}
	o = object(t, `{"status": {"conditions": [{"type": "Synced", "status": "False"}, {"type": "Programmed", "status": "True"}]}}`)
	conditions := kopf.GetOr(o, "status.conditions", []metav1.Condition{})
	if !meta.IsStatusConditionTrue(conditions, "Programmed") || meta.IsStatusConditionTrue(conditions, "Synced") {
		t.Errorf("conditions: got %v", conditions)
	}
}

type (
	size struct {
		Size int `json:"size"`
	}
	sized struct {
		Spec size `json:"spec"`
	}
	lifetime struct {
		Other int             `json:"other"`
		TTL   metav1.Duration `json:"ttl"`
	}
	timed struct {
		Spec lifetime `json:"spec"`
	}
)

func TestDecode_MismatchNamesPath(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		path kopf.Path
		into any
		want string
	}{
		"kind of a field":            {`{"spec":{"size":"big"}}`, "", &sized{}, "spec.size is a string"},
		"kind below a path":          {`{"spec":{"size":"big"}}`, "spec", &size{}, "spec.size is a string"},
		"kind of the value":          {`{"spec":{"size":"big"}}`, "spec.size", new(int), "spec.size is a string"},
		"UnmarshalJSON":              {`{"spec":{"other":1,"ttl":"soon"}}`, "", &timed{}, "spec.ttl does not decode"},
		"UnmarshalJSON below a path": {`{"spec":{"ttl":"soon"}}`, "spec", &lifetime{}, "spec.ttl does not decode"},
		"a malformed path":           {`{}`, "spec[", new(int), "spec["},
	} {
		t.Run(name, func(t *testing.T) {
			err := object(t, test.text).Decode(test.path, test.into)
			var permanent kopf.PermanentError
			if !errors.As(err, &permanent) {
				t.Fatalf("trying again would help? %v", err)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestDecode_IgnoresUnknownFields(t *testing.T) {
	var v sized
	if err := object(t, `{"spec":{"size":2,"other":[]},"status":"odd"}`).Decode("", &v); err != nil || v.Spec.Size != 2 {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestObjectOf_AnythingThatEncodesAsObject(t *testing.T) {
	for name, v := range map[string]any{
		"a map": tree{"spec": tree{"size": 3}},
		"a struct": struct {
			Spec struct{ Size int } `json:"spec"`
		}{struct{ Size int }{3}},
		"a view": object(t, `{"spec":{"size":3}}`),
	} {
		o, err := kopf.ObjectOf(v)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := kopf.GetOr(o, "spec.size", kopf.GetOr(o, "spec.Size", 0)); got != 3 {
			t.Errorf("%s: got %v", name, got)
		}
	}
	for name, v := range map[string]any{"text": "x", "what is no JSON": make(chan int), "a list": []int{1}} {
		if _, err := kopf.ObjectOf(v); err == nil {
			t.Errorf("%s is an object?", name)
		}
	}
}

func TestObject_KeepsJSON(t *testing.T) {
	raw, err := object(t, manifest).MarshalJSON()
	if err != nil || string(raw) != manifest {
		t.Errorf("got %s, %v", raw, err)
	}
}

func TestObject_ConcurrentUse(t *testing.T) {
	o := object(t, manifest)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got := kopf.GetOr(o, "spec.size", 0); got != 3 {
				t.Errorf("got %v", got)
			}
		})
	}
	wg.Wait()
}
