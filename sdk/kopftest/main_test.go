package kopftest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) {
	RunAs("writer", writer)
	RunAs("failing", failing)
	testmain.Run(m, testcluster.Exit)
}

// doomed is a test that may fail, to see with which words.
type doomed struct {
	testing.TB
	failure string
}

func (d *doomed) Fatalf(format string, args ...any) {
	d.failure = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (d *doomed) Fatal(args ...any) {
	d.failure = fmt.Sprint(args...)
	runtime.Goexit()
}

// failureOf runs a function that must fail, and returns the message.
func failureOf(t *testing.T, f func(testing.TB)) string {
	t.Helper()
	d := &doomed{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(d)
	}()
	<-done
	if d.failure == "" {
		t.Fatal("it did not fail")
	}
	return d.failure
}

func wantAll(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q is not in:\n%s", word, text)
		}
	}
}
