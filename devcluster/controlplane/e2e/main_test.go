// Package e2e tests the program as a separate process.
package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the binary under test.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) != "" {
		os.Exit(runParent())
	}
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "controlplane-e2e-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program = filepath.Join(dir, "controlplane")
	// Use the flags of package devcluster, to share its build cache.
	build := exec.Command("go", "build", "-mod=readonly", "-buildvcs=false", "-o", program,
		"-ldflags=-s -w -X k8s.io/component-base/version.gitVersion="+kubernetesVersion, "..")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the control plane: %w\n%s", err, out)
	}
	return m.Run(), nil
}

// kubernetesVersion is the version that a cluster must report.
const kubernetesVersion = "v1.37.1"
