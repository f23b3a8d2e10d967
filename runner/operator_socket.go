package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// maxSocketDir is the maximal length of the path of a folder for sockets: the path of a
// socket must be shorter than 104 bytes.
const maxSocketDir = 85

// socketDir is a folder for the sockets of the operators' inspectors.
type socketDir struct {
	path  string
	own   bool // newSocketDir created the folder
	count int
}

// projectFile is the file in a folder for sockets that names the project of the operators.
const projectFile = "project"

// newSocketDir uses the given folder, which the caller removes. If its path is too long, it creates a temporary folder. It
// writes the project into the folder, for [RunningOperators].
func newSocketDir(folder, project string) (*socketDir, error) {
	d := &socketDir{path: folder}
	if len(folder) > maxSocketDir {
		sweepSocketDirs(os.TempDir())
		path, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", socketPrefix, os.Getpid()))
		if err != nil {
			return nil, fmt.Errorf("create a folder for the inspector's socket: %w", err)
		}
		d = &socketDir{path: path, own: true}
	}
	if err := os.WriteFile(filepath.Join(d.path, projectFile), []byte(project), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("record the operator's project: %w", err), d.remove())
	}
	return d, nil
}

// socketPrefix is the prefix of the folders' names. The id of the process that created the folder follows.
const socketPrefix = "kopf-"

// sweepSocketDirs removes the folders of killed processes. It ignores folders of other users, and failed removals.
func sweepSocketDirs(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		rest, ours := strings.CutPrefix(entry.Name(), socketPrefix)
		pid, _, _ := strings.Cut(rest, "-")
		n, err := strconv.Atoi(pid)
		if !ours || err != nil || n <= 0 || !errors.Is(syscall.Kill(n, 0), syscall.ESRCH) {
			continue
		}
		_ = os.RemoveAll(filepath.Join(parent, entry.Name()))
	}
}

// next returns the address of an unused socket.
func (d *socketDir) next() string { return "unix:" + d.nextPath() + ".sock" }

// nextPath returns the path of an unused file, for sockets other than the inspectors'.
func (d *socketDir) nextPath() string {
	d.count++
	return filepath.Join(d.path, strconv.Itoa(d.count))
}

func (d *socketDir) remove() error {
	if !d.own {
		return nil
	}
	return os.RemoveAll(d.path)
}
