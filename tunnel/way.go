package tunnel

import (
	"context"
	"net"
	"time"
)

// Way is one way for the API server to reach this machine. A way of your own can be given to [Open], too.
type Way interface {
	// Name is the word for the way: "direct", "ngrok".
	Name() string
	// Open makes this machine reachable. It returns when connections can come in, or an error that says
	// what to do. The context is the one of the whole way, which ends with it: it is cancelled if the opening is
	// interrupted, and at the end, after [Entrance].Release.
	Open(ctx context.Context) (*Entrance, error)
}

// Entrance is where the connections of an open [Way] come in.
type Entrance struct {
	// Listener accepts the connections of the API server.
	Listener net.Listener

	// Target is what webhook configurations have to name.
	Target Target

	// Plain means that the way ends TLS itself, with a certificate that API servers trust. Otherwise,
	// the connections carry the TLS of the API server.
	Plain bool

	// Settles is how long it may take until the API server reaches a new entrance, for example because
	// names have to become known. Until then, failed attempts do not count.
	Settles time.Duration

	// Detail is additional information about the way, for people. May be empty.
	Detail string

	// Link reports when the connection behind the listener is lost, if the way reopens it by itself. Nil for ways
	// without a connection, and for ways whose Listener fails with the connection.
	Link *Link

	// Renew renews the [Mark] of the way's objects in the cluster, and recreates missing objects. It is called every
	// few minutes while the way is open. May be nil.
	Renew func(context.Context) error

	// Release removes the way's objects other than the listener. May be nil.
	Release func(context.Context) error
}
