package state

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

const text = `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"x","annotations":{"kopf.zalando.org/fn":"{}",` +
	`"other.example.com/kopf-managed":"yes","z":"1","kubectl.kubernetes.io/last-applied-configuration":"{}","other.example.com/x":"1","a":"2"},` +
	`"labels":{"q":"1","b":"2"},"generation":3,"uid":"u"},"zeta":1,"spec":{"z":1.0,"a":{"y":1,"b":12345678901234567890}},"status":{"phase":"P","other":1}}`

func parseObject(t testing.TB) map[string]any {
	t.Helper()
	v, err := object.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func paths(t testing.TB, fields ...string) []object.Path {
	t.Helper()
	var out []object.Path
	for _, field := range fields {
		path, err := object.ParsePath(field)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, path)
	}
	return out
}

func TestEssenceText_KeyOrderOfPython(t *testing.T) {
	const body = `"zeta":1,"spec":{"z":1.0,"a":{"y":1,"b":12345678901234567890}}`
	const labels = `"labels":{"q":"1","b":"2"}`
	for _, c := range []struct {
		extra []string
		want  string
	}{
		{nil, `{` + body + `,"metadata":{` + labels + `,"annotations":{"z":"1","a":"2"}}}`},
		{[]string{"status.phase", "metadata.generation", "kind"},
			`{` + body + `,"metadata":{` + labels + `,"annotations":{"z":"1","a":"2"},"generation":3},"status":{"phase":"P"},"kind":"KopfExample"}`},
		{[]string{"metadata.annotations[other.example.com/x]"},
			`{` + body + `,"metadata":{` + labels + `,"annotations":{"z":"1","a":"2","other.example.com/x":"1"}}}`},
		{[]string{"status.other", "status.phase", "status.absent", "spec.a"},
			`{` + body + `,"metadata":{` + labels + `,"annotations":{"z":"1","a":"2"}},"status":{"other":1,"phase":"P"}}`},
		{[]string{"metadata.annotations"},
			`{` + body + `,"metadata":{` + labels + `,"annotations":{"kopf.zalando.org/fn":"{}","other.example.com/kopf-managed":"yes","z":"1",` +
				`"kubectl.kubernetes.io/last-applied-configuration":"{}","other.example.com/x":"1","a":"2"}}}`},
		{[]string{"metadata", "status"},
			`{` + body + `,"metadata":{"name":"x","annotations":{"kopf.zalando.org/fn":"{}","other.example.com/kopf-managed":"yes","z":"1",` +
				`"kubectl.kubernetes.io/last-applied-configuration":"{}","other.example.com/x":"1","a":"2"},` + labels +
				`,"generation":3,"uid":"u"},"status":{"phase":"P","other":1}}`},
	} {
		extra := paths(t, c.extra...)
		built := BuildEssence(parseObject(t), extra, nil)
		got, err := essenceText(built, []byte(text), extra)
		if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
			t.Errorf("%v: %v %s", c.extra, err, diff)
		}
	}
}

func TestEssenceText_SortedWithoutOriginal(t *testing.T) {
	got, err := essenceText(BuildEssence(parseObject(t), nil, nil), nil, nil)
	want := `{"metadata":{"annotations":{"a":"2","z":"1"},"labels":{"b":"2","q":"1"}},"spec":{"a":{"b":12345678901234567890,"y":1},"z":1.0},"zeta":1}`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestEssenceText_UnencodableValueFails(t *testing.T) {
	e := map[string]any{"metadata": map[string]any{"labels": make(chan int)}, "spec": 1}
	if _, err := essenceText(e, []byte(text), nil); err == nil {
		t.Error("a channel was written")
	}
}

func TestBuildEssence_KeepsObjectUnchanged(t *testing.T) {
	o := parseObject(t)
	before := object.CloneMap(o)
	built := BuildEssence(o, paths(t, "status.phase", "spec.a.y", "metadata.annotations[kopf.zalando.org/fn]"), paths(t, "spec.a.b", "metadata.labels"))
	withoutAnnotations(built, func(string) bool { return true })
	if diff := cmp.Diff(before, o); diff != "" {
		t.Error(diff)
	}
}

func TestBuildEssence_IgnoredFieldsWinOverExtra(t *testing.T) {
	built := BuildEssence(parseObject(t), paths(t, "status"), paths(t, "status.phase", "zeta", "spec", "metadata", "spec.gone"))
	if diff := cmp.Diff(map[string]any{"status": map[string]any{"other": int64(1)}}, built); diff != "" {
		t.Error(diff)
	}
}

func TestBuildEssence_MalformedObjects(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{`{}`, `{}`},
		{`{"metadata":null,"status":null,"spec":null}`, `{"spec":null}`},
		{`{"metadata":{"labels":null,"annotations":null}}`, `{}`},
		{`{"metadata":{"labels":[],"annotations":"x"}}`, `{"metadata":{"annotations":"x"}}`},
		{`{"metadata":"text"}`, `{}`},
	} {
		v, err := object.DecodeJSON([]byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		extra := paths(t, "spec.a", "metadata.x.y", "status.x")
		got, errText := essenceText(BuildEssence(v.(map[string]any), extra, nil), []byte(c.body), extra)
		if err := errors.Join(err, errText); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", c.body, got, err)
		}
	}
}

func TestWithoutEmpty_RemovesValuesFalseInPython(t *testing.T) {
	for _, c := range []struct {
		status any
		want   bool
	}{{nil, true}, {"", true}, {int64(0), true}, {0.0, true}, {false, true}, {[]any{}, true}, {map[string]any{}, true},
		{"x", false}, {int64(1), false}, {true, false}, {[]any{nil}, false}, {map[string]any{"a": nil}, false}} {
		_, remains := WithoutEmpty(map[string]any{"status": c.status})["status"]
		if remains == c.want {
			t.Errorf("%#v remains: %v", c.status, remains)
		}
	}
}

func ExampleBuildEssence() {
	object := map[string]any{
		"kind":     "KopfExample",
		"metadata": map[string]any{"name": "x", "labels": map[string]any{"a": "b"}, "resourceVersion": "10"},
		"spec":     map[string]any{"size": int64(1)},
		"status":   map[string]any{"phase": "Ready"},
	}
	fmt.Println(BuildEssence(object, nil, nil))
	// Output: map[metadata:map[labels:map[a:b]] spec:map[size:1]]
}

func BenchmarkBuildEssence(b *testing.B) {
	o := parseObject(b)
	b.ReportAllocs()
	for b.Loop() {
		BuildEssence(o, nil, nil)
	}
}

func BenchmarkEssenceText(b *testing.B) {
	o := parseObject(b)
	built := BuildEssence(o, nil, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := essenceText(built, []byte(text), nil); err != nil {
			b.Fatal(err)
		}
	}
}
