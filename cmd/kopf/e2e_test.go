package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
)

// The tests in this file run operators with the real SDK and a real control plane.

const example = "../../../examples/01-minimal"

// withCluster returns a kopf process in this repository that keeps its clusters in the folder.
func withCluster(t *testing.T, state string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cmd, stdout, stderr = command(t, "testdata", append(args, "--ephemeral", "-A")...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "XDG_STATE_HOME="+state, "KOPF_CONTROLPLANE="+program)
	return cmd, stdout, stderr
}

// shortDir returns a temporary folder whose path is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kopf-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestE2E_RunUntilSettled(t *testing.T) {
	t.Parallel()
	state := shortDir(t)
	cmd, stdout, stderr := withCluster(t, state, "run", example, "--apply", example, "--until=settled", "-v")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s%s", got, stdout, stderr)
	}
	if !strings.Contains(stdout.String(), "And here we are!") {
		t.Errorf("the handler did not print: %s", stdout)
	}
	if want := "kopf: settled: 2 objects, 1 without handlers; 1 handler succeeded\n"; !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("the last line is missing: %s", stderr)
	}
	expectNoProcess(t, state)
}

func TestE2E_PermanentFailureListsHandlers(t *testing.T) {
	t.Parallel()
	report := filepath.Join(t.TempDir(), "report.xml")
	cmd, stdout, stderr := withCluster(t, shortDir(t), "run", "./failing", "--apply", "failing/object.yaml", "--until=settled", "-q", "--report="+report)
	if got := code(t, cmd.Run()); got != 1 {
		t.Errorf("%d, %s", got, stdout)
	}
	want := "kopf: a handler has failed permanently\n  cm/default/refused: refuse: failed permanently (attempt 1): no such thing today\n  not settled: 3 objects, 1 failed, 2 without handlers; 0 handlers succeeded, 1 failed\n"
	if !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("the output is %s", stderr)
	}
	text, err := os.ReadFile(report)
	if failure := `<failure message="failed permanently (attempt 1): no such thing today">`; err != nil || !strings.Contains(string(text), failure) {
		t.Errorf("the report is %s, %v", text, err)
	}
}

func TestE2E_SecondRunReportsFailureOfTheFirst(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", shortDir(t))
	cluster, err := devcluster.Open(t.Context(), devcluster.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	const failure = "cm/default/refused: refuse: failed permanently (attempt 1): no such thing today\n"
	for run := range 2 {
		cmd, stdout, stderr := command(t, "testdata", "run", "./failing", "--kubeconfig="+cluster.KubeconfigPath, "-A",
			"--apply", "failing/object.yaml", "--until=settled", "-q")
		cmd.Env = append(os.Environ(), asCommand+"=1")
		if got := code(t, cmd.Run()); got != 1 || !strings.Contains(stderr.String(), failure) {
			t.Errorf("run %d: exit code %d, %s%s", run+1, got, stdout, stderr)
		}
	}
}

func TestE2E_TimeoutNamesAttemptAndRetry(t *testing.T) {
	t.Parallel()
	cmd, stdout, stderr := withCluster(t, shortDir(t), "run", "./retrying", "--apply", "retrying", "--until=settled", "--timeout=20s", "-q") // it is tried before that
	if got := code(t, cmd.Run()); got != 1 {
		t.Errorf("%d, %s", got, stdout)
	}
	text := stderr.String()
	for _, want := range []string{"kopf: not settled after 20s\n  cm/default/attached: attach: will be retried in ", " (attempt 1 of 50): still attached\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

func TestE2E_DevInPipeEndsWhenSettled(t *testing.T) {
	t.Parallel()
	state := shortDir(t)
	cmd, stdout, stderr := withCluster(t, state, "dev", example, "--apply", example, "--until=settled")
	got := code(t, cmd.Run())
	// On a slow machine, the operator takes more than a second to stop.
	if told := strings.TrimPrefix(stderr.String(), "kopf: the operator is stopping; ctrl+c ends it at once\n"); got != 0 || told != "" {
		t.Fatalf("%d, %s%s", got, stdout, stderr)
	}
	for _, want := range []string{"cluster   ready", "build     built", "operator  running", "object    settled"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is not in %s", want, stdout)
		}
	}
	expectNoProcess(t, state)
}

func TestE2E_DevInPipeSaysThatAllIsSettled(t *testing.T) {
	t.Parallel()
	cmd, _, _ := withCluster(t, shortDir(t), "dev", example, "--apply", example)
	out, said := outputFile(t)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "settled", func() bool {
		return strings.Contains(said(), "everything is settled; waiting for changes until ctrl+c (--until=settled ends the command here)")
	})
	stop(t, cmd, said)
}

func TestE2E_KilledDevLeavesNoProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("finding processes needs /proc; run this test on Linux")
	}
	state := shortDir(t)
	cmd, _, stderr := withCluster(t, state, "dev", example)
	out, said := outputFile(t)
	cmd.Stdout = out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "running", func() bool { return strings.Contains(said(), "operator  running") })
	if n := len(processesOf(t, state)); n < 2 {
		t.Fatalf("there are %d processes, want an operator and a control plane", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd.Wait()); got != -1 {
		t.Errorf("%d, %s", got, stderr)
	}
	eventually(t, "gone", func() bool { return len(processesOf(t, state)) == 0 })
}

func TestE2E_InterruptDuringClusterStartLeavesNoProcess(t *testing.T) {
	t.Parallel()
	state := shortDir(t)
	cmd, _, stderr := withCluster(t, state, "run", example, "-q")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		eventually(t, "starting", func() bool { return len(processesOf(t, state)) > 0 })
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd.Wait()); got != 130 || stderr.String() != "kopf: interrupted\n" {
		t.Errorf("%d, %s", got, stderr)
	}
	expectNoProcess(t, state)
	if left, err := filepath.Glob(filepath.Join(state, "kopf", "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("of the ephemeral cluster, %q is left (%v)", left, err)
	}
}

// expectNoProcess fails the test if processes of a run are still running.
func expectNoProcess(t *testing.T, state string) {
	t.Helper()
	if left := processesOf(t, state); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// processesOf returns the command lines that mention the folder: of control planes with data
// in it, and of operators with a kubeconfig in it. It returns none without /proc.
func processesOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(folder)) { // ignore processes that have just exited
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// outputFile returns a file for the output of a process, and a function that reads it.
func outputFile(t *testing.T) (out *os.File, said func() string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := out.Close(); err != nil {
			t.Error(err)
		}
	})
	return out, func() string {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// eventually waits until another process has changed something.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(5 * time.Minute)
	for !is() {
		select {
		case <-ticker.C:
		case <-late:
			t.Fatalf("not %s", what)
		}
	}
}

func TestE2E_BuiltOperatorNeedsOnlyKubeconfig(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", shortDir(t))
	cluster, err := devcluster.Open(t.Context(), devcluster.Options{Provider: devcluster.Embedded, Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apply.Files(t.Context(), config, []string{filepath.Join("testdata", example)}, apply.Options{Namespace: "default"}); err != nil {
		t.Fatal(err)
	}

	built := filepath.Join(t.TempDir(), "operator")
	build, stdout, stderr := command(t, "testdata", "build", example, "-o", built)
	build.Env = append(os.Environ(), asCommand+"=1") // with the workspace, where the SDK is
	if got := code(t, build.Run()); got != 0 || stdout.String() != built+"\n" {
		t.Fatalf("%d, %s%s", got, stdout, stderr)
	}
	empty := t.TempDir()
	out, said := outputFile(t)
	operator := exec.CommandContext(t.Context(), built, "-n", "default")
	operator.Dir, operator.Env = empty, []string{"KUBECONFIG=" + cluster.KubeconfigPath}
	operator.Stdout, operator.Stderr = out, out
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "handled", func() bool { return strings.Contains(said(), "Creation is processed: 1 succeeded") })
	if err := errors.Join(operator.Process.Signal(syscall.SIGTERM), operator.Wait()); err != nil {
		t.Errorf("%v: %s", err, said())
	}
	if !strings.Contains(said(), "And here we are!") {
		t.Errorf("the handler did not print: %s", said())
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("%v is left in the operator's folder: %v", left, err)
	}
}
