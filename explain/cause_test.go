package explain_test

import (
	"testing"

	"github.com/kopf-dev/kopf/explain"
)

func TestValue_FormatsShortly(t *testing.T) {
	for want, v := range map[string]any{
		"nothing": nil, `""`: "", "1Gi": "1Gi", "true": true, "90": int64(90), `{"a":[1]}`: map[string]any{"a": []any{int64(1)}},
	} {
		if got := explain.Value(v); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
