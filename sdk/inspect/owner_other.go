//go:build !unix

package inspect

import "io/fs"

// isOwn reports true: the folders of users are their own on this system.
func isOwn(fs.FileInfo) bool { return true }
