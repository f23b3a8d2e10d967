package testcluster

import (
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/rest"
)

// skipVar skips the tests that need a control plane if it is set to anything.
const skipVar = "KOPF_SKIP_CLUSTER_TESTS"

// Exit stops the control plane and ends the process with the code. It is the last call of a TestMain:
//
//	goleak.VerifyTestMain(m, goleak.Cleanup(testcluster.Exit))
func Exit(code int) {
	if err := StopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Config is how to connect to the control plane, which is started if nobody did yet. The
// test fails if there is no program for it, since skipped tests look like good ones.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	mayStart(t)
	process, err := Shared()
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
			err, BinaryVar, skipVar)
	}
}
