package state

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func markOf(t *testing.T, err error) *BrokenMark {
	t.Helper()
	mark, ok := errors.AsType[*BrokenMark](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	return mark
}

func TestBrokenMark_SetAside(t *testing.T) {
	fields := map[string]any{"retries": "many"}
	inStatus := map[string]any{"status": map[string]any{"kopf": map[string]any{"progress": map[string]any{"fn": fields}}}}
	custom := &AnnotationsDiffBase{Prefix: "my.example.com", Key: strings.Repeat("k", 70), V1: true}
	keys := custom.keys(nil)
	inCustom := map[string]any{"metadata": map[string]any{"annotations": map[string]any{keys[1]: strings.Repeat("é", 3000)}}}
	for name, tt := range map[string]struct {
		obj  map[string]any
		err  func(map[string]any) error
		want map[string]any
	}{
		"an annotation": {
			annotated("fn", "{"),
			func(obj map[string]any) error { _, err := NewSmartProgress().Fetch(obj, "fn"); return err },
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{
				"kopf.zalando.org/fn": nil, "kopf.zalando.org/unreadable.fn": "{",
			}}},
		},
		"a field": {
			inStatus,
			func(obj map[string]any) error { _, err := NewSmartProgress().Fetch(obj, "fn"); return err },
			map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/unreadable.fn": `{"retries":"many"}`}},
				"status":   map[string]any{"kopf": map[string]any{"progress": map[string]any{"fn": nil}}},
			},
		},
		"a long name under another prefix": {
			inCustom,
			func(obj map[string]any) error { _, err := custom.Fetch(obj); return err },
			map[string]any{"metadata": map[string]any{"annotations": map[string]any{
				keys[1]: nil, shortenV2("my.example.com", "unreadable."+strings.TrimPrefix(keys[1], "my.example.com/")): strings.Repeat("é", 2048),
				"my.example.com/kopf-managed": "yes",
			}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := patch.NewPatch()
			mark := markOf(t, tt.err(tt.obj))
			mark.SetAside(tt.obj, p)
			if diff := cmp.Diff(tt.want, p.Tree()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			after := patch.Merged(tt.obj, p.Tree())
			if err := tt.err(after); err != nil {
				t.Errorf("it is still there: %v", err)
			}
			if essence := NewSmartProgress().Clear(custom.Essence(after, nil)); len(essence) != 0 {
				t.Errorf("it counts as a change: %v", essence)
			}
			for _, storage := range []ProgressStorage{NewSmartProgress(), &AnnotationsProgress{Prefix: "my.example.com"}} {
				if found := Orphans(after, storage, nil); len(found) != 0 {
					t.Errorf("it counts as progress: %v", found)
				}
			}
		})
	}
}

func TestBrokenMark_WhatReplacesItIsKept(t *testing.T) {
	obj := annotated("fn", `{"started":1}`)
	_, err := NewSmartProgress().Fetch(obj, "fn")
	mark, p := markOf(t, err), patch.NewPatch()
	if err := NewSmartProgress().Store(object.Without(obj, mark.Path), "fn", Record{Started: now}, p); err != nil {
		t.Fatal(err)
	}
	mark.SetAside(obj, p)
	after := patch.Merged(obj, p.Tree())
	r, err := NewSmartProgress().Fetch(after, "fn")
	if err != nil || r == nil || !r.Started.Equal(stored(now)) {
		t.Errorf("got %v, %v", r, err)
	}
	if got := object.Annotations(after)[mark.Aside()]; got != `{"started":1}` {
		t.Errorf("got %v", got)
	}
}
