package binary

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

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

func TestGoCommand_CancelKillsProcessGroup(t *testing.T) {
	// A go command whose compiler ignores signals.
	bin := t.TempDir()
	pidFile := filepath.Join(bin, "pid")
	put(t, filepath.Join(bin, "go"), "#!/bin/sh\nsh -c 'trap \"\" INT TERM; echo $$ > "+pidFile+"; echo ready >&2; while :; do read x; done < "+fifo(t)+"' &\nwait\n", 0o755)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := builder{}.goCommand(ctx, "", func(string) bool { cancel(); return true }, "build")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	body, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.After(10 * time.Second)
	for alive(t, strings.TrimSpace(string(body))) {
		select {
		case <-deadline:
			t.Fatal("the compiler is still running")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestLineWriter_TruncatesLongErrors(t *testing.T) {
	w := lineWriter{consume: func(l string) bool { return l == "wanted" }}
	for n := range shownLines + 5 {
		fmt.Fprintf(&w, "wanted\n\nline %d\npar", n)
		fmt.Fprint(&w, "t\n")
	}
	fmt.Fprint(&w, "no newline")
	lines := strings.Split(w.err().Error(), "\n")
	if len(lines) != shownLines+1 || lines[0] != "line 0" || lines[1] != "part" || lines[shownLines] != "(and 31 more lines)" {
		t.Errorf("it is %q", lines)
	}
}
