package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// connectEvery is how often a new operator's inspector is tried. It is there some ten
// milliseconds after the start of the process.
const connectEvery = 10 * time.Millisecond

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

// follow reads the stream of an operator that has just been started, as soon as there
// is one. It returns nil at the operator's good bye, or the error of message. Until there
// is a stream, silent is told why not, with each attempt.
func follow(ctx context.Context, client *inspect.Client, message func(inspect.Message) error, silent func(error)) error {
	ticker := time.NewTicker(connectEvery)
	defer ticker.Stop()
	for connected := false; ; {
		var failed error
		for m, err := range client.Messages(ctx) {
			if failed = err; err != nil {
				break
			}
			connected = true
			if failed = message(m); failed != nil {
				break
			}
		}
		if failed == nil || connected || ctx.Err() != nil {
			return failed
		}
		if _, ok := errors.AsType[*inspect.VersionError](failed); ok {
			return failed
		}
		silent(failed)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
