// Package controlplanetest gives tests a real control plane: one process for each test
// binary, started when the first test asks for it, with a namespace and with custom
// resources for each test alone.
package controlplanetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// binaryVar names the program of the control plane.
	binaryVar = "KOPF_CONTROLPLANE"
	// skipVar skips the tests that need a control plane if it is set to anything.
	skipVar = "KOPF_SKIP_CLUSTER_TESTS"

	startTimeout = time.Minute
)

// process is the control plane of this test binary.
var process struct {
	once   sync.Once
	config *rest.Config
	err    error
	cmd    *exec.Cmd
	stdin  io.Closer
}

// Main runs the tests of a package, looks for goroutines that they left, and stops the
// control plane. It is meant to be the whole TestMain.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if err := stop(); err != nil {
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
	if os.Getenv(skipVar) != "" {
		t.Skipf("%s is set", skipVar)
	}
	process.once.Do(func() { process.config, process.err = start() })
	if process.err != nil {
		t.Fatalf("No control plane to test with: %v\nBuild one with \"make controlplane\", or name its program in %s, or set %s=1 to skip such tests.",
			process.err, binaryVar, skipVar)
	}
	return rest.CopyConfig(process.config)
}

func start() (*rest.Config, error) {
	program, err := find()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "--ephemeral", "--guard")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("guard of the control plane: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("output of the control plane: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the control plane: %w", err)
	}
	process.cmd, process.stdin = cmd, stdin
	hung := time.AfterFunc(startTimeout, func() { _ = cmd.Process.Kill() }) // if it has ended by then, so be it
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	hung.Stop()
	if err != nil {
		return nil, fmt.Errorf("%s ended, or was stopped after %s, without a word: %w", program, startTimeout, err)
	}
	var ready struct{ Kubeconfig, Error string }
	if err := json.Unmarshal(line, &ready); err != nil {
		return nil, fmt.Errorf("%s does not speak as expected, build it anew: %w: %s", program, err, line)
	}
	if ready.Error != "" {
		return nil, fmt.Errorf("%s: %s", program, ready.Error)
	}
	config, err := clientcmd.BuildConfigFromFlags("", ready.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig of the control plane: %w", err)
	}
	return config, nil
}

// find returns the program that is named, or else the one used last of those built.
func find() (string, error) {
	if program := os.Getenv(binaryVar); program != "" {
		return program, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("the user's cache directory: %w", err)
	}
	pattern := filepath.Join(cache, "kopf", "controlplane", "*", "controlplane")
	programs, err := filepath.Glob(pattern)
	if err != nil {
		return "", fmt.Errorf("look for %s: %w", pattern, err)
	}
	newest, at := "", time.Time{}
	for _, program := range programs {
		// The directory is touched with every use, the program is not.
		info, err := os.Stat(filepath.Dir(program))
		if err == nil && info.ModTime().After(at) {
			newest, at = program, info.ModTime()
		}
	}
	if newest == "" {
		return "", fmt.Errorf("%w: %s", os.ErrNotExist, pattern)
	}
	return newest, nil
}

// stop ends the control plane, if it was started.
func stop() error {
	if process.cmd == nil {
		return nil
	}
	if err := process.stdin.Close(); err != nil {
		return fmt.Errorf("stop the control plane: %w", err)
	}
	if err := process.cmd.Wait(); err != nil {
		return fmt.Errorf("the control plane ended badly: %w", err)
	}
	return nil
}
