package runner

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxSocketDir is the maximal length of the path of a folder for sockets: the path of a
// socket must be shorter than 104 bytes.
const maxSocketDir = 85

// socketDir is a folder for the sockets of the operators' inspectors.
type socketDir struct {
	path  string
	own   bool // it was created by newSocketDir
	count int
}

// newSocketDir uses the folder, which the caller removes, or a temporary folder if the
// path of that one is too long.
func newSocketDir(folder string) (*socketDir, error) {
	if len(folder) <= maxSocketDir {
		return &socketDir{path: folder}, nil
	}
	path, err := os.MkdirTemp("", "kopf-")
	if err != nil {
		return nil, fmt.Errorf("create a folder for the inspector's socket: %w", err)
	}
	return &socketDir{path: path, own: true}, nil
}

// next returns the address of an unused socket.
func (d *socketDir) next() string {
	d.count++
	return "unix:" + filepath.Join(d.path, fmt.Sprintf("%d.sock", d.count))
}

func (d *socketDir) remove() error {
	if !d.own {
		return nil
	}
	return os.RemoveAll(d.path)
}
