package inspect

import (
	"errors"
	"net"
	"syscall"
)

// peerOf returns the user of the process at the other end of a socket.
func peerOf(socket *net.UnixConn) (uid int, known bool, err error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var credentials *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		credentials, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, false, err
	}
	return int(credentials.Uid), true, nil
}
