//go:build !linux

package inspect

import "net"

// peerOf cannot determine the user on this system. The mode of the socket excludes other users.
func peerOf(*net.UnixConn) (uid int, known bool, err error) { return 0, false, nil }
