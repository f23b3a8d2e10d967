package watch

import (
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Types of events.
const (
	Listed   = "" // it was there when the objects were listed
	Added    = object.EventAdded
	Modified = object.EventModified
	Deleted  = object.EventDeleted
)

// Event is one version of one object, or the end of it.
//
// The last event of an object that vanished while nobody watched has type Deleted and an
// object with nothing but its identity; its resourceVersion is that of the list it was
// missing from.
type Event struct {
	Type   string
	Object *object.Object
}

// Defaults of Options.
const (
	DefaultInactivityTimeout = 70 * time.Second
	DefaultReconnectBackoff  = 100 * time.Millisecond
)

// maxBackoff bounds the growing delays after repeated failures.
const maxBackoff = 10 * time.Second

// Options tell what to follow and how.
type Options struct {
	Client    *kube.Client
	Resource  *resources.Resource
	Namespace string // the whole cluster if empty

	// Handle gets every event, one at a time and in order. The stream waits for it, so it
	// should return at once.
	Handle func(Event)

	// Listed is called after every listing, once all its objects were handled: the first
	// time, everything that exists is known. Optional.
	Listed func(count int)

	// Restarted is called whenever the stream is interrupted, or cannot be started, before
	// the delay ahead of the next attempt. It may be called from another goroutine than
	// Handle, but not after Run returned. Optional.
	Restarted func(Restart)

	// ServerTimeout is how long the server keeps a stream open; as it likes if zero.
	ServerTimeout time.Duration

	// ClientTimeout is how long a stream is kept open on this side; no limit if not positive.
	ClientTimeout time.Duration

	// InactivityTimeout is how long a stream may be silent: the server sends a bookmark
	// about every minute. Default: 70 seconds. Negative: for ever.
	InactivityTimeout time.Duration

	// ReconnectBackoff is the least time between attempts. It doubles with every failure in
	// a row, up to 10 seconds. Default: 100 milliseconds. Negative: no delay after a proper
	// end, which only a server with a timeout can afford.
	ReconnectBackoff time.Duration

	KeepManagedFields bool

	Logger *slog.Logger // for what the reflector says, at debug level; discarded if nil
}

// Reason is why a stream was interrupted, in one word for metrics.
type Reason string

// Reasons of restarts.
const (
	Closed        Reason = "closed"         // the server ended the stream as it should
	Dropped       Reason = "dropped"        // the connection broke
	Silent        Reason = "silent"         // nothing came for the inactivity timeout
	ClientTimeout Reason = "client-timeout" // as configured
	Expired       Reason = "expired"        // 410: the changes since the last version are lost, a listing follows
	Throttled     Reason = "throttled"      // 429
	Unauthorized  Reason = "unauthorized"   // 401, or no login
	Forbidden     Reason = "forbidden"      // 403
	NotFound      Reason = "not-found"      // 404: the resource is gone, or not yet there
	Unavailable   Reason = "unavailable"    // 5xx, or nobody listens
	Rejected      Reason = "rejected"       // any other answer
)

// Restart is one interruption.
type Restart struct {
	Reason  Reason
	Err     error         // nil if Closed
	Delay   time.Duration // until the next attempt
	Attempt int           // failures in a row; 0 if the stream had been working
}
