package runner

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxSocketDir is how long the path of a folder may be that has sockets in it: those of
// sockets must have less than 104 bytes.
const maxSocketDir = 85

// socketDir is a folder for the sockets of inspectors.
type socketDir struct {
	path  string
	own   bool // it is for the sockets alone
	count int
}

// newSocketDir takes the folder, which is removed by others, even if this process is
// killed. Where its path is too long, there is a folder for the sockets alone.
func newSocketDir(folder string) (*socketDir, error) {
	if len(folder) <= maxSocketDir {
		return &socketDir{path: folder}, nil
	}
	path, err := os.MkdirTemp("", "kopf-")
	if err != nil {
		return nil, fmt.Errorf("no folder for the inspector's socket: %w", err)
	}
	return &socketDir{path: path, own: true}, nil
}

// next returns the address of a socket that was not used before.
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
