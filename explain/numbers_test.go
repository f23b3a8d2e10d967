package explain_test

import (
	"testing"

	"github.com/kopf-dev/kopf/explain"
)

func TestCount_NounIsInflected(t *testing.T) {
	for n, want := range map[int]string{0: "0 errors", 1: "1 error", 999: "999 errors", 1000: "1,000 errors", 1234567: "1,234,567 errors"} {
		if got := explain.Count(n, "error"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
