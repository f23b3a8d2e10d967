package call

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestCheckResult_TooLargeIsPermanent(t *testing.T) {
	for _, tt := range []struct {
		size   int
		result any
		fits   bool
	}{
		{100, map[string]any{"a": int64(1)}, true},
		{100, strings.Repeat("x", maxObjectSize-102), true},
		{100, strings.Repeat("x", maxObjectSize-101), false},
		{maxObjectSize, "x", false},
		{0, []any{strings.Repeat("<", maxObjectSize/6-1)}, true},
		{0, map[string]any{"a": []any{strings.Repeat("<", maxObjectSize/6)}}, false},
	} {
		err := checkResult(tt.size, tt.result)
		var permanent handlers.Permanent
		if (err == nil) != tt.fits || err != nil && (!errors.As(err, &permanent) || !strings.Contains(err.Error(), "bytes of JSON")) {
			t.Errorf("%d and %.20v: %v", tt.size, tt.result, err)
		}
	}
}

func TestMaxLength_NeverTooShort(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `-1.7976931348623157e+308`, `-9223372036854775808`, `123456789012345678901234567890`, `"\u003c\u0000é"`,
		`[1,[],{},"x",null]`, `{"\u003c":{"a":[1.5,2.5]},"b":false}`,
	} {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var tree any
		if err := decoder.Decode(&tree); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(tree)
		if err != nil || maxLength(tree) < len(encoded) {
			t.Errorf("%s: %d of %d, %v", text, maxLength(tree), len(encoded), err)
		}
	}
}
