package kopftest

import (
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// printed is a test whose messages may contain data from the cluster. Only visible characters reach the terminal.
type printed struct{ testing.TB }

// Errorf implements [testing.TB].
func (t printed) Errorf(format string, args ...any) {
	t.Helper()
	t.TB.Errorf("%s", printable.Lines(fmt.Sprintf(format, args...)))
}

// Fatalf implements [testing.TB].
func (t printed) Fatalf(format string, args ...any) {
	t.Helper()
	t.TB.Fatalf("%s", printable.Lines(fmt.Sprintf(format, args...)))
}

// Logf implements [testing.TB].
func (t printed) Logf(format string, args ...any) {
	t.Helper()
	t.TB.Logf("%s", printable.Lines(fmt.Sprintf(format, args...)))
}
