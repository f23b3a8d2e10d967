package kopftest

import (
	"strings"
	"testing"
)

func TestPrinted_FailuresAreVisibleCharacters(t *testing.T) {
	failure := failureOf(t, func(d testing.TB) {
		printed{d}.Fatalf("kopftest: %s\n- golden", "x\x1b]0;title\x07\r\u202e\u009b")
	})
	if want := `kopftest: x\x1b]0;title\x07\r\u202e\u009b` + "\n- golden"; !strings.Contains(failure, want) {
		t.Errorf("%q", failure)
	}
}
