//go:build unix

package inspector

import (
	"fmt"
	"os"
)

// checkMode returns an error if other users can connect to a socket.
func checkMode(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("the system has made %s for all users; use a folder that is yours alone, and a TCP address otherwise", path)
	}
	return err
}
