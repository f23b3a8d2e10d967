package shown

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestMerged_HasOneChangeForEachField(t *testing.T) {
	ready, available := object.Path{"status", "ready"}, object.Path{"status", "available"}
	got := merged(object.Diff{
		{Op: object.DiffAdd, Path: ready, New: 1}, {Op: object.DiffAdd, Path: available, New: 1},
		{Op: object.DiffChange, Path: ready, Old: 1, New: 2}, {Op: object.DiffChange, Path: ready, Old: 2, New: 3},
		{Op: object.DiffRemove, Path: available, Old: 1},
	})
	if diff := cmp.Diff(object.Diff{{Op: object.DiffAdd, Path: ready, New: 3}}, got); diff != "" {
		t.Error(diff)
	}
}
