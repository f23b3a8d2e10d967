package k3d

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kopf-dev/kopf/internal/testmain"
)

// e2eDir is the folder of the programs for the end-to-end tests, which hack/e2e-k3d builds. It is
// empty in other runs, which skip these tests.
var e2eDir = os.Getenv("KOPF_E2E_K3D")

func TestMain(m *testing.M) {
	config, err := os.MkdirTemp("", "kopf-docker-")
	if err == nil {
		err = os.Setenv("DOCKER_CONFIG", config) // is read once
	}
	if err == nil {
		err = os.Setenv("DOCKER_HOST", "unix://"+filepath.Join(config, "none.sock"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := 0
	if e2eDir == "" {
		testmain.Run(cleaning{m, config})
	} else {
		code = runWithEngine(m)
	}
	_ = os.RemoveAll(config)
	os.Exit(code)
}

// cleaning removes a folder after the tests.
type cleaning struct {
	m   *testing.M
	dir string
}

func (c cleaning) Run() int {
	defer os.RemoveAll(c.dir)
	return c.m.Run()
}
