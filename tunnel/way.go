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

	// Detail tells a person what others may want to know about the way. May be empty.
	Detail string

	// Link tells when the connection behind the listener is lost, if the way opens it again by itself. Nil for ways
	// that have no connection, or that end with it: then the Listener fails.
	Link *Link

	// Renew renews the [Mark] of what the way has created in the cluster, and creates what is missing. It is called
	// every few minutes while the way is open. May be nil.
	Renew func(context.Context) error

	// Release gives back what the way has created besides the listener. May be nil.
	Release func(context.Context) error
}
