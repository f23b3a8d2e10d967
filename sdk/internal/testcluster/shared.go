package testcluster

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
)

// skipVar is the environment variable that skips the tests that need a control plane.
const skipVar = "KOPF_SKIP_CLUSTER_TESTS"

// shared is the control plane of this test binary.
var shared struct {
	sync.Mutex
	begun   bool
	process *Process
	err     error
}

// Shared returns the control plane of this test binary, and starts it at the first call. It
// does not retry after a failure.
func Shared() (*Process, error) {
	shared.Lock()
	defer shared.Unlock()
	if !shared.begun {
		shared.begun = true
		shared.process, shared.err = start("--ephemeral")
	}
	return shared.process, shared.err
}

// StopShared stops the control plane of this test binary, if it was started, and waits for
// its end.
func StopShared() error {
	shared.Lock()
	defer shared.Unlock()
	process := shared.process
	shared.begun, shared.process, shared.err = false, nil, nil
	if process == nil {
		return nil
	}
	return process.Stop()
}

// Exit stops the control plane and exits with the code. It is the last call of a TestMain:
//
//	testmain.Run(m, testcluster.Exit)
func Exit(code int) {
	if err := StopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Config returns the configuration of the shared control plane, and starts it at the first
// call. The test fails if there is no program for it, as skipping it would look like success.
func Config(t testing.TB) *rest.Config {
	t.Helper()
	skipIfAsked(t)
	process, err := Shared()
	failUnlessStarted(t, err)
	return process.Config()
}

func skipIfAsked(t testing.TB) {
	t.Helper()
	if os.Getenv(skipVar) != "" {
		t.Skipf("%s is set", skipVar)
	}
}

func failUnlessStarted(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("No control plane to test with: %v\nBuild one with \"make controlplane\", or name its program in %s, or set %s=1 to skip such tests.",
			err, BinaryVar, skipVar)
	}
}
