package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// waitTimeout bounds every wait, even on a busy machine.
	waitTimeout = 60 * time.Second
	// pollInterval is the interval of checks of something that cannot be watched.
	pollInterval = 20 * time.Millisecond
)

// cluster is a control plane process under test.
type cluster struct {
	Server, Kubeconfig, Context, Version string
	PID                                  int
	Seconds                              float64

	client dynamic.Interface
	cmd    *exec.Cmd
	guard  io.Closer
	exited chan error
}

// start runs the program and waits until it is ready. It is stopped at the end of the test.
func start(t *testing.T, args ...string) *cluster {
	t.Helper()
	c := &cluster{exited: make(chan error, 1)}
	c.cmd = exec.Command(program, append(args, "--guard")...)
	c.cmd.Stderr = t.Output()
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.guard, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	go func() { c.exited <- c.cmd.Wait() }()
	t.Cleanup(func() { c.stop(t) })
	if err := errors.Join(err, json.Unmarshal(line, c)); err != nil || c.Server == "" {
		t.Fatalf("the program printed %q: %v", line, err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	if c.client, err = dynamic.NewForConfig(cfg); err != nil {
		t.Fatal(err)
	}
	return c
}

// stop stops the process, if it is running, by closing its guard.
func (c *cluster) stop(t *testing.T) {
	t.Helper()
	if c.exited == nil {
		return
	}
	_ = c.guard.Close() // it may be closed
	c.wait(t)
}

// kill kills the process.
func (c *cluster) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.wait(t)
}

// wait waits for the exit of the process and returns its error.
func (c *cluster) wait(t *testing.T) error {
	t.Helper()
	defer func() { c.exited = nil }()
	select {
	case err := <-c.exited:
		return err
	case <-time.After(waitTimeout):
		t.Errorf("the process %d did not exit", c.PID)
		return errors.Join(c.cmd.Process.Kill(), <-c.exited)
	}
}

// startFailure runs the program, which must fail to start.
func startFailure(t *testing.T, args ...string) (status int, reason, message string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatalf("the program ended with %v and printed %s%s", err, &stdout, &stderr)
	}
	var answer struct{ Reason, Error string }
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil && stdout.Len() > 0 {
		t.Fatalf("the program printed %q: %v", &stdout, err)
	}
	if answer.Error == "" {
		answer.Error = stderr.String()
	}
	return exit.ExitCode(), answer.Reason, answer.Error
}

// eventually polls until the condition holds.
func eventually(t *testing.T, what string, condition func(ctx context.Context) (bool, error)) time.Duration {
	t.Helper()
	begin := time.Now()
	if err := wait.PollUntilContextTimeout(t.Context(), pollInterval, waitTimeout, true, condition); err != nil {
		t.Fatalf("waiting until %s: %v", what, err)
	}
	return time.Since(begin)
}

// locked reports whether a running process has locked the data directory.
func locked(t *testing.T, dir string) bool {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &l); err != nil {
		t.Fatal(err)
	}
	return l.Type != syscall.F_UNLCK
}
