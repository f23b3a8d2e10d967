//go:build unix

package inspect

import (
	"io/fs"
	"os"
	"syscall"
)

// isPrivate reports whether a file belongs to the user of this process, and no other user has access.
func isPrivate(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
