package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// The tests in this file run operators with the real SDK and a real control plane.

const example = "../../../examples/01-minimal"

// withCluster is a run of kopf in this repository, whose state is in the folder.
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

// shortDir is a temporary folder with a path that is short enough for sockets in it.
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

func TestFromNothingToAHandledObject(t *testing.T) {
	state := shortDir(t)
	cmd, stdout, stderr := withCluster(t, state, "run", example, "--apply", example, "--until=settled", "-v")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s%s", got, stdout, stderr)
	}
	if !strings.Contains(stdout.String(), "And here we are!") {
		t.Errorf("the handler did not print: %s", stdout)
	}
	if !strings.Contains(stderr.String(), "customresourcedefinitions/kopfexamples.kopf.dev: no handler is for it") {
		t.Errorf("what is not waited for is not told: %s", stderr)
	}
	expectNoProcess(t, state)
}

func TestAFailureForGoodIsALineForEachObjectAndHandler(t *testing.T) {
	cmd, stdout, stderr := withCluster(t, shortDir(t), "run", "./failing", "--apply", "failing/object.yaml", "--until=settled", "-q")
	if got := code(t, cmd.Run()); got != 1 {
		t.Errorf("%d, %s", got, stdout)
	}
	want := "kopf: a handler has failed for good\ncm/default/refused: refuse: failed for good (attempt 1): no such thing today\n"
	if !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("it says %s", stderr)
	}
}

func TestTimeThatRunsOutNamesTheAttemptAndTheNextOne(t *testing.T) {
	cmd, stdout, stderr := withCluster(t, shortDir(t), "run", "./retrying", "--apply", "retrying", "--until=settled", "--timeout=3s", "-q")
	if got := code(t, cmd.Run()); got != 1 {
		t.Errorf("%d, %s", got, stdout)
	}
	text := stderr.String()
	for _, want := range []string{"kopf: not settled after 3s\ncm/default/attached: attach: will be retried in ", " (attempt 1 of 50): still attached\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}

func TestDevInAPipeEndsByItselfOnceAllIsSettled(t *testing.T) {
	state := shortDir(t)
	cmd, stdout, stderr := withCluster(t, state, "dev", example, "--apply", example, "--until=settled")
	if got := code(t, cmd.Run()); got != 0 || stderr.String() != "" {
		t.Fatalf("%d, %s%s", got, stdout, stderr)
	}
	for _, want := range []string{"cluster   ready", "build     built", "operator  running", "object    settled"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is not in %s", want, stdout)
		}
	}
	expectNoProcess(t, state)
}

func TestAKilledDevLeavesNoProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked for in /proc")
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
		t.Fatalf("there are %d processes, and should be an operator and a control plane", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd.Wait()); got != -1 {
		t.Errorf("%d, %s", got, stderr)
	}
	eventually(t, "gone", func() bool { return len(processesOf(t, state)) == 0 })
}

func TestAnInterruptWhileTheClusterStartsLeavesNothing(t *testing.T) {
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
}

// expectNoProcess looks for what a run has left behind.
func expectNoProcess(t *testing.T, state string) {
	t.Helper()
	if left := processesOf(t, state); len(left) > 0 {
		t.Errorf("there is still %q", left)
	}
}

// processesOf are the command lines of processes that have to do with a folder: control
// planes have their data in it, operators their kubeconfig. There are none to be seen
// where there is no /proc.
func processesOf(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(folder)) { // else it has just ended
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// outputFile is for what a process says, and returns how to read what it has said so far.
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

// eventually waits for something that other processes do.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	late := time.After(time.Minute)
	for !is() {
		select {
		case <-ticker.C:
		case <-late:
			t.Fatalf("not %s", what)
		}
	}
}
