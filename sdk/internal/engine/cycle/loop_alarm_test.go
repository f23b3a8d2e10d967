package cycle

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestTouches_FieldsAndTheirParts(t *testing.T) {
	merge := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"own/progress": nil}}, "status": map[string]any{"kopf": map[string]any{"progress": "x"}}}
	for path, want := range map[string]bool{
		"metadata.annotations.own/progress": true, "metadata.annotations.other": false, "metadata.annotations": true, "status.kopf.progress.deep": true, "spec": false,
	} {
		p, err := object.ParsePath(path)
		if path == "metadata.annotations.own/progress" {
			p, err = object.Path{"metadata", "annotations", "own/progress"}, nil
		}
		if err != nil || touches(merge, p) != want {
			t.Errorf("%s: %v, %v", path, !want, err)
		}
	}
}
