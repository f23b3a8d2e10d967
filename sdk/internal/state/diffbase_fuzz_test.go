package state

import (
	"testing"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func FuzzLastHandled(f *testing.F) {
	for _, text := range []string{
		`{"spec":{"a":1.0,"b":[null,1e400,NaN]}}` + "\n", `null`, `[]`, `{"metadata":{"labels":{"a":"\ud800"}}}`, `{"spec":12345678901234567890}`,
		`{"metadata":{"annotations":[]}}`, `{"metadata":"x"}`, "",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			return // decoding the object has replaced invalid UTF-8
		}
		storage := NewAnnotationsDiffBase()
		obj := annotated("last-handled-configuration", text)
		last, err := storage.Fetch(obj)
		if err != nil || last == nil {
			return
		}
		storage.Essence(obj, []object.Path{{"metadata", "x"}})
		p := patch.NewPatch()
		if err := storage.Store(obj, []byte(text), last, []object.Path{{"spec", "a"}}, p); err != nil {
			t.Fatalf("%q was read, but is not stored: %v", text, err)
		}
		stored, _ := p.Lookup(annotation("kopf.zalando.org/last-handled-configuration"))
		again, err := decodeEssence(stored)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, stored, err)
		}
		if object.Equal(last, last) && !object.Equal(last, again) { // NaN differs from itself
			t.Fatalf("%q became %q", text, stored)
		}
	})
}

func FuzzEssence(f *testing.F) {
	for _, text := range []string{
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","labels":{"a":"b"},"annotations":{"b.c/d":"e","x/kopf-managed":"yes","x/y":"z"}},"spec":{"b":1,"a":2},"status":{}}`,
		`{"metadata":{"annotations":[],"labels":null}}`, `{"metadata":1,"spec":{"spec":[{"x":"\u00e9"}]}}`, `{"spec":1,"spec":{"a":{}}}`,
	} {
		f.Add([]byte(text), "spec", "a")
	}
	f.Fuzz(func(t *testing.T, raw []byte, first, second string) {
		parsed, err := object.Parse(raw, object.ParseOptions{})
		if err != nil {
			return
		}
		tree, err := parsed.Tree()
		if err != nil {
			return
		}
		extra := []object.Path{{first, second}, {second}}
		essence := BuildEssence(tree, extra, nil)
		text, err := essenceText(essence, parsed.Raw, extra)
		if err != nil {
			t.Fatalf("%q has an essence that is not written: %v", raw, err)
		}
		again, err := object.DecodeJSON(text)
		if err != nil || len(object.ComputeDiff(essence, again)) > 0 {
			t.Fatalf("the essence of %q is written as %q, %v", raw, text, err)
		}
	})
}
