package k3d

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kopf-dev/kopf/devcluster/k3d/internal/dockertest"
)

// privateEngine is the Docker engine of the end-to-end tests.
var privateEngine *dockertest.Engine

// runWithEngine runs the tests with a private Docker engine.
func runWithEngine(m *testing.M) int {
	dir, err := os.MkdirTemp("", "kopf-engine-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	privateEngine, err = dockertest.New(dir, filepath.Join(e2eDir, "runtime"), "2g")
	if err != nil {
		fmt.Println("e2e-k3d: SKIPPED: a private Docker engine does not start here:", err)
		return 0
	}
	code := 1
	if err := os.Setenv("DOCKER_HOST", "unix://"+privateEngine.Socket()); err == nil {
		if reason := prepareImages(); reason != nil {
			fmt.Println("e2e-k3d: SKIPPED: privileged containers do not start here:", reason)
			code = 0
		} else {
			code = m.Run()
		}
	}
	if err := privateEngine.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
