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

// socketPrefix is the prefix of the folders' names. The id of the process that created the folder follows.
const socketPrefix = "kopftest-"

var sweepOnce sync.Once

// newSocketDir creates a folder for the socket of an inspector, because the paths of test folders are too long for sockets.
// The first call removes the folders of killed test programs.
func newSocketDir() (string, error) {
	sweepOnce.Do(func() { sweepSocketDirs(os.TempDir()) })
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", socketPrefix, os.Getpid()))
}

// sweepSocketDirs removes the folders of ended processes. It ignores errors.
func sweepSocketDirs(parent string) {
	dirs, _ := filepath.Glob(filepath.Join(parent, socketPrefix+"*-*"))
	for _, dir := range dirs {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), socketPrefix), "-")
		pid, err := strconv.Atoi(id)
		if err != nil || pid <= 0 {
			continue
		}
		// If the state of the process is unknown, the process may still run.
		process, err := os.FindProcess(pid)
		if err == nil && errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			_ = os.RemoveAll(dir)
		}
	}
}
