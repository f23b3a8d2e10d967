package state

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func TestDiffBase_BrokenEssenceIsError(t *testing.T) {
	status := func(v any) map[string]any {
		return map[string]any{"status": map[string]any{"kopf": map[string]any{"last-handled-configuration": v}}}
	}
	for _, text := range []any{
		`{`, `[]`, `"x"`, int64(1), ``, `{"a":NaN}`, `{"a":[1e999]}`, strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat(`}`, 20_000),
	} {
		_, err := NewAnnotationsDiffBase().Fetch(annotated("last-handled-configuration", text))
		_, errStatus := MultiDiffBase{newStatusDiffBase()}.Fetch(status(text))
		for _, err := range []error{err, errStatus} {
			broken, ok := errors.AsType[*BrokenMark](err)
			if !ok || broken.Where() == "" || broken.Unwrap() == nil || err.Error() == "" {
				t.Errorf("%v: %v", text, err)
			}
		}
	}
	for _, text := range []any{nil, "null", " null\n"} {
		last, err := MultiDiffBase{NewAnnotationsDiffBase(), newStatusDiffBase()}.Fetch(annotated("last-handled-configuration", text))
		if last != nil || err != nil {
			t.Errorf("%v: %v, %v", text, last, err)
		}
	}
}

func TestDiffBase_StoredEssenceReadsBackUnchanged(t *testing.T) {
	const text = `{"metadata":{"name":"x","labels":{"a":"é"}},"spec":{"big":12345678901234567890,"huge":123456789012345678901234567890,"f":1.0,"n":null,"l":[1,2.50,"\u2028"]}}`
	exact, err := object.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	// The decoder of Kubernetes knows no integers beyond 64 bits.
	rounded := exact.(map[string]any)["spec"].(map[string]any)
	rounded["big"], rounded["huge"] = 12345678901234567890.0, 123456789012345678901234567890.0
	obj := exact.(map[string]any)

	for _, storage := range []DiffBaseStorage{NewAnnotationsDiffBase(), newStatusDiffBase(), MultiDiffBase{newStatusDiffBase(), NewAnnotationsDiffBase()}} {
		p := patch.NewPatch()
		last := storage.Essence(obj, nil)
		if err := storage.Store(obj, []byte(text), last, nil, p); err != nil {
			t.Fatal(err)
		}
		fetched, err := storage.Fetch(p.Tree())
		if d := object.ComputeDiff(fetched, last); len(d) > 0 || err != nil {
			t.Errorf("%T: %v %v", storage, d, err)
		}
		want := map[string]any{
			"big": json.Number("12345678901234567890"), "huge": json.Number("123456789012345678901234567890"),
			"f": 1.0, "n": nil, "l": []any{int64(1), 2.5, "\u2028"},
		}
		if d := cmp.Diff(any(want), fetched["spec"]); d != "" {
			t.Errorf("%T: %s", storage, d)
		}
	}
}

func TestDiffBase_UnencodableEssenceIsNotStored(t *testing.T) {
	for _, storage := range []DiffBaseStorage{NewAnnotationsDiffBase(), MultiDiffBase{newStatusDiffBase()}} {
		p := patch.NewPatch()
		if err := storage.Store(nil, nil, map[string]any{"c": make(chan int)}, nil, p); err == nil || !p.Empty() {
			t.Error(err, p.Tree())
		}
	}
}

func TestDiffBase_EssenceExcludesStorage(t *testing.T) {
	obj := annotated("last-handled-configuration", "{}")
	obj["status"] = map[string]any{"kopf": map[string]any{"last-handled-configuration": "{}"}, "phase": "P"}
	extra := []object.Path{{"status"}, {"metadata", "annotations"}}
	got := MultiDiffBase{NewAnnotationsDiffBase(), newStatusDiffBase()}.Essence(obj, extra)
	if d := cmp.Diff(map[string]any{"status": map[string]any{"phase": "P"}}, got); d != "" {
		t.Error(d)
	}
}

func BenchmarkDiffBase_NothingChanged(b *testing.B) {
	const text = `{"metadata":{"name":"x","labels":{"app":"x"},"annotations":{"a.example.com/b":"c"}},"spec":{"size":"10Gi","ttl":3600,"template":{"labels":{"app":"x","tier":"gold"},"ports":[80,443],"ratio":1.5}}}`
	v, err := object.DecodeJSON([]byte(text))
	if err != nil {
		b.Fatal(err)
	}
	obj, storage, p := v.(map[string]any), NewAnnotationsDiffBase(), patch.NewPatch()
	if err := storage.Store(obj, []byte(text), storage.Essence(obj, nil), nil, p); err != nil {
		b.Fatal(err)
	}
	stored, _ := p.Lookup(object.Path{"metadata", "annotations", "kopf.zalando.org/last-handled-configuration"})
	obj["metadata"].(map[string]any)["annotations"].(map[string]any)["kopf.zalando.org/last-handled-configuration"] = stored
	b.ReportAllocs()
	for b.Loop() {
		last, err := storage.Fetch(obj)
		if err != nil {
			b.Fatal(err)
		}
		if d := object.ComputeDiff(last, storage.Essence(obj, nil)); len(d) > 0 {
			b.Fatal(d)
		}
	}
}
