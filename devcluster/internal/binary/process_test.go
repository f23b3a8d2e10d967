package binary

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// fifo is a file that blocks its readers for as long as the test runs.
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

// alive tells whether a process runs. One that is only waiting to be reaped by init does not.
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

// isZombie reads the state behind the name, which is in parentheses.
func isZombie(stat string) bool {
	for n := len(stat) - 1; n >= 0; n-- {
		if stat[n] == ')' {
			return n+2 < len(stat) && stat[n+2] == 'Z'
		}
	}
	return false
}
