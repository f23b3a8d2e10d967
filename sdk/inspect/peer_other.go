//go:build !linux

package inspect

import "net"

// peerOf does not know the user on this system: the mode of the socket keeps others out.
func peerOf(*net.UnixConn) (uid int, known bool, err error) { return 0, false, nil }
