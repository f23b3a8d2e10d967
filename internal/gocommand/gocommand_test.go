package gocommand

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeGo puts a script named go first on the PATH.
func fakeGo(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestCommand_SeparatesConsumedLines(t *testing.T) {
	fakeGo(t, `echo "$1 $VARIABLE"; printf 'wanted\nother\npar' >&2; printf 't\nno newline' >&2; exit 3`)
	cmd := Command{Env: []string{"VARIABLE=value"}, Consume: func(line string) bool { return line == "wanted" }}
	stdout, stderr, err := cmd.Run(t.Context(), "build")
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 {
		t.Errorf("the error is %v", err)
	}
	if string(stdout) != "build value\n" || string(stderr) != "other\npart\nno newline\n" {
		t.Errorf("the output is %q and %q", stdout, stderr)
	}
}

// fifo returns the path of a FIFO that blocks its readers until the end of the test.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return path
}

// alive reports whether a process is running. A zombie is not.
func alive(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	if errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || !isZombie(string(stat))
}

// isZombie parses the state, which follows the name in parentheses.
func isZombie(stat string) bool {
	for n := len(stat) - 1; n >= 0; n-- {
		if stat[n] == ')' {
			return n+2 < len(stat) && stat[n+2] == 'Z'
		}
	}
	return false
}

func TestCommand_CancelKillsProcessGroup(t *testing.T) {
	// A go command whose compiler ignores signals.
	pidFile := filepath.Join(t.TempDir(), "pid")
	fakeGo(t, "sh -c 'trap \"\" INT TERM; echo $$ > "+pidFile+"; echo ready >&2; while :; do read x; done < "+fifo(t)+"' &\nwait")
	ctx, cancel := context.WithCancel(t.Context())
	cmd := Command{Consume: func(string) bool { cancel(); return true }}
	_, _, err := cmd.Run(ctx, "build")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	body, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.After(time.Minute)
	for alive(t, strings.TrimSpace(string(body))) {
		select {
		case <-deadline:
			t.Fatal("the compiler is still running")
		case <-time.After(10 * time.Millisecond):
		}
	}
}
