package state

import (
	"testing"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func FuzzProgressRecord(f *testing.F) {
	for _, text := range []string{
		`{"started":"2020-01-01T00:00:00.123456+00:00","stopped":null,"delayed":"2020-01-01T00:00:00","purpose":"create","retries":3,"success":false,"failure":true,"message":"\u0000é","subrefs":["a/b"]}`,
		`{"started":"2020-01-01","retries":1e3,"success":true}`, `{"retries":"x"}`, `{"retries":1e308}`, `{"started":{}}`,
		`{"delayed":"0000-01-01T00:00:00+23:59"}`, `{"delayed":"9999-12-31T23:59:59-23:59"}`, `null`, `[]`, `{}`, `{"subrefs":[1]}`,
	} {
		f.Add(text, "fn/spec.field")
	}
	f.Fuzz(func(t *testing.T, text, id string) {
		if !utf8.ValidString(text) || !utf8.ValidString(id) {
			return // decoding the object has replaced invalid UTF-8
		}
		storage := newAnnotationsProgress()
		keys := storage.keys(id, nil)
		obj := map[string]any{"metadata": map[string]any{"annotations": map[string]any{keys[0]: text}}}
		Orphans(obj, storage, nil)
		Orphans(obj, storage, []string{id})
		record, err := storage.Fetch(obj, id)
		if err != nil || record == nil {
			return
		}
		p := patch.NewPatch()
		if err := storage.Store(obj, id, *record, p); err != nil {
			t.Fatalf("%q was read, but is not stored: %v", text, err)
		}
		stored, _ := p.Lookup(annotation(keys[0]))
		again, err := decodeRecord(stored)
		if err != nil || again == nil || !record.Equal(*again) {
			t.Fatalf("%q became %q: %+v instead of %+v, %v", text, stored, again, record, err)
		}
		inField, err := parseRecord(record.tree())
		if err != nil || !record.Equal(*inField) {
			t.Fatalf("%q became %+v in a field instead of %+v, %v", text, inField, record, err)
		}
	})
}
