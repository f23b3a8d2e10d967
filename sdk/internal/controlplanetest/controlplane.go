// Package controlplanetest gives tests a real control plane: one process for each test
// binary, started when the first test asks for it, with a namespace and with custom
// resources for each test alone.
package controlplanetest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/controlplane"
)

// skipVar skips the tests that need a control plane if it is set to anything.
const skipVar = "KOPF_SKIP_CLUSTER_TESTS"

// Main runs the tests of a package, looks for goroutines that they left, and stops the
// control plane. It is meant to be the whole TestMain.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := controlplane.StopShared(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
		os.Exit(code)
	}))
}

// Config is how to connect to the control plane, which is started if nobody did yet. The
// test fails if there is no program for it, since skipped tests look like good ones.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	mayStart(t)
	process, err := controlplane.Shared()
	started(t, err)
	return process.Config()
}

func mayStart(t testing.TB) {
	t.Helper()
	if os.Getenv(skipVar) != "" {
		t.Skipf("%s is set", skipVar)
	}
}

func started(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("No control plane to test with: %v\nBuild one with \"make controlplane\", or name its program in %s, or set %s=1 to skip such tests.",
			err, controlplane.BinaryVar, skipVar)
	}
}
