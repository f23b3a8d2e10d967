package object

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

func TestVectorsOfDiffs(t *testing.T) {
	type vector struct {
		Kind    string          `json:"kind"`
		Old     json.RawMessage `json:"old"`
		New     json.RawMessage `json:"new"`
		Scope   string          `json:"scope"`
		Field   Path            `json:"field"`
		Diff    json.RawMessage `json:"diff"`
		Reduced json.RawMessage `json:"reduced"`
	}
	scopes := map[string]diffScope{"": fullScope, "full": fullScope, "left": leftScope, "right": rightScope}
	vectors.Run(t, "diff.json", func(t *testing.T, v *vector) error {
		scope, ok := scopes[v.Scope]
		if !ok {
			return fmt.Errorf("unknown scope %q", v.Scope)
		}
		got := computeScopedDiff(decoded(t, v.Old), decoded(t, v.New), scope)
		want := v.Diff
		if v.Kind == "reduce" {
			got, want = got.Reduce(v.Field), v.Reduced
		}
		return sameItems(decoded(t, want), got)
	})
}

// sameItems compares in the order of the paths, as the recordings are sorted.
func sameItems(want any, got Diff) error {
	sorted := slices.Clone(got)
	slices.SortStableFunc(sorted, func(a, b DiffItem) int { return slices.Compare(a.Path, b.Path) })
	have := []any{}
	for _, item := range sorted {
		path := []any{}
		for _, key := range item.Path {
			path = append(path, key)
		}
		have = append(have, []any{string(item.Op), path, item.Old, item.New})
	}
	if diff := cmp.Diff(want, any(have)); diff != "" {
		return errors.New("(-want +got):\n" + diff)
	}
	return nil
}

func decoded(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	if raw == nil {
		return nil
	}
	v, err := DecodeJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
