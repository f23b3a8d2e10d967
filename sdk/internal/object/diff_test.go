package object

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestComputeDiff_AdditionsThenRemovalsThenChanges(t *testing.T) {
	before := map[string]any{"z-gone": 1, "a-gone": 1, "same": "x", "spec": map[string]any{"b": int64(1), "gone": int64(1)}}
	after := map[string]any{"z-new": 1, "b-new": 1, "same": "x", "spec": map[string]any{"b": int64(2), "new": int64(1)}, "null": nil}
	var got []string
	for _, item := range ComputeDiff(before, after) {
		got = append(got, fmt.Sprintf("%s %s", item.Op, item.Path))
	}
	want := []string{"add b-new", "add z-new", "remove a-gone", "remove z-gone", "add spec.new", "remove spec.gone", "change spec.b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReduce_FieldCanBeAListItem(t *testing.T) {
	before := map[string]any{"spec": map[string]any{"items": []any{map[string]any{"n": int64(1), "m": int64(1)}}}}
	after := map[string]any{"spec": map[string]any{"items": []any{map[string]any{"n": int64(2), "m": int64(1)}}}}
	d := ComputeDiff(before, after)
	for field, want := range map[string]Diff{
		"spec.items[0].n": {{Op: DiffChange, Old: int64(1), New: int64(2)}},
		"spec.items[0].m": nil,
		"spec.items[1]":   nil,
		"spec.items[0]":   {{Op: DiffChange, Path: Path{"n"}, Old: int64(1), New: int64(2)}},
	} {
		path, err := ParsePath(field)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, d.Reduce(path)); diff != "" {
			t.Errorf("%s: %s", field, diff)
		}
	}
}

func TestComputeDiff_PathsShareNoMemory(t *testing.T) {
	d := ComputeDiff(map[string]any{"a": map[string]any{"b": map[string]any{}}}, map[string]any{"a": map[string]any{"b": map[string]any{"x": 1, "y": 2, "z": 3}}})
	_ = append(d[0].Path, "overwritten")
	if d[0].Path.String() != "a.b.x" || d[1].Path.String() != "a.b.y" || d[2].Path.String() != "a.b.z" {
		t.Error(d)
	}
}

func TestComputeDiff_EqualTreesAllocateNothing(t *testing.T) {
	one, other := object(), object()
	if allocs := testing.AllocsPerRun(10, func() { ComputeDiff(one, other) }); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func object() map[string]any {
	return map[string]any{
		"spec":     map[string]any{"size": "10Gi", "ttl": int64(3600), "ratio": 1.5, "ports": []any{int64(80), int64(443)}, "template": map[string]any{"labels": map[string]any{"app": "x"}}},
		"metadata": map[string]any{"labels": map[string]any{"app": "x", "tier": "gold"}, "annotations": map[string]any{"a": "b"}},
	}
}

func BenchmarkComputeDiff_Equal(b *testing.B) {
	one, other := object(), object()
	b.ReportAllocs()
	for b.Loop() {
		ComputeDiff(one, other)
	}
}

func BenchmarkComputeDiff_OneChange(b *testing.B) {
	one, other := object(), object()
	other["spec"].(map[string]any)["ttl"] = int64(1)
	b.ReportAllocs()
	for b.Loop() {
		ComputeDiff(one, other)
	}
}
