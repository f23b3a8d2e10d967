package inspect

import (
	"fmt"
	"net"
	"os"
)

// PeerError is the error of a connection to or from a process of another user.
type PeerError struct{ UID int }

// Error implements the error interface.
func (e *PeerError) Error() string {
	return fmt.Sprintf("inspector: the other process belongs to another user (uid %d); run both as the same user", e.UID)
}

// CheckPeer returns a [*PeerError] if the process at the other end of a Unix socket belongs to another user than this
// process, except root. It returns nil for other connections, and on systems that do not identify the peer.
func CheckPeer(conn net.Conn) error {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil
	}
	uid, known, err := peerOf(socket)
	if err != nil {
		return fmt.Errorf("inspector: look for the user of the other process: %w", err)
	}
	if known && !trusted(uid, os.Geteuid()) {
		return &PeerError{UID: uid}
	}
	return nil
}

// trusted reports whether this process accepts another user's process as a server, and as a client. Root could read
// everything anyway; processes of root trust only root.
func trusted(peer, own int) bool { return peer == own || peer == 0 }
