package kopftest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// socketPrefix is followed by the id of the process that has created the folder.
const socketPrefix = "kopftest-"

var sweepOnce sync.Once

// newSocketDir creates a folder for the socket of an inspector: sockets have short paths, the folders
// of tests do not. The first call removes the folders of test programs that were killed.
func newSocketDir() (string, error) {
	sweepOnce.Do(func() { sweepSocketDirs(os.TempDir()) })
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", socketPrefix, os.Getpid()))
}

// sweepSocketDirs removes the folders of ended processes. It ignores errors of the removal.
func sweepSocketDirs(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, socketPrefix+"*-*"))
	for _, dir := range dirs {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), socketPrefix), "-")
		pid, err := strconv.Atoi(id)
		if err != nil || pid <= 0 {
			continue
		}
		// Where a process cannot be found or asked, it may live.
		process, err := os.FindProcess(pid)
		if err == nil && errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			_ = os.RemoveAll(dir)
		}
	}
}
