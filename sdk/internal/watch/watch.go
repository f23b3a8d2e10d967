package watch

import (
	"log/slog"
	"math"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Types of events.
const (
	Listed   = "" // the object is in a list
	Added    = object.EventAdded
	Modified = object.EventModified
	Deleted  = object.EventDeleted
)

// Event is a version of an object, or its deletion.
//
// If an object was deleted during an interruption, its last event is Deleted with nothing
// but its identity and the resourceVersion of the list that it was missing from.
type Event struct {
	Type   string
	Object *object.Object

	// Complete is, in events of lists, the resourceVersion up to which the list has all writes. An older
	// write that it does not have is lost. It is [Everything] if the server has lost its newer state, and 0
	// in other events, or if versions cannot be compared.
	Complete uint64
}

// Everything is a resourceVersion that is newer than all others.
const Everything = math.MaxUint64

// Defaults of Options.
const (
	DefaultInactivityTimeout = 70 * time.Second
	DefaultReconnectBackoff  = 100 * time.Millisecond
)

// Options say what to watch and how.
type Options struct {
	Client    *kube.Client
	Resource  *resources.Resource
	Namespace string // empty means the whole cluster

	// LabelSelector selects the objects on the server's side. An object that stops matching has an event as if it was
	// deleted. Optional.
	LabelSelector string

	// ShardSelector returns a selection of the objects by ranges of a hash, for servers that know it. Others
	// send all objects. It is called for each request, since fewer objects may be of interest by then.
	// Optional.
	ShardSelector func() string

	// Keep reports whether an object is of interest: the stream drops all others. It must depend on nothing that
	// can change about an object, but may become false while the stream runs. Optional.
	Keep func(*object.Object) bool

	// Handle is called for every event, one at a time and in order. The stream waits for it.
	Handle func(Event)

	// Listed is called after every list, once all its objects were handled. The first call
	// means that all existing objects are known. Optional.
	Listed func(count int)

	// Restarted is called when the stream is interrupted or cannot be started, before the
	// delay. It may be called concurrently with Handle, but not after Run returned. Optional.
	Restarted func(Restart)

	// ServerTimeout is how long the server keeps a stream open. Defaults to the server's own
	// limit.
	ServerTimeout time.Duration

	// ClientTimeout is how long the client keeps a stream open. There is no limit if it is not
	// positive.
	ClientTimeout time.Duration

	// InactivityTimeout is how long a stream may receive nothing: not a byte, such as of the bookmark
	// that the server sends about every minute. Defaults to 70s; there is no limit if it is negative.
	InactivityTimeout time.Duration

	// ReconnectBackoff is the minimum delay between attempts. It doubles with every failure in
	// a row, up to 10s. Defaults to 100ms. If it is negative, there is no delay after a stream
	// that ended regularly.
	ReconnectBackoff time.Duration

	KeepManagedFields bool

	// MetadataOnly requests nothing but type and metadata of the objects. Servers that cannot do that send whole objects.
	MetadataOnly bool

	Logger *slog.Logger // logger of the reflector's messages, at debug level; may be nil
}

// Reason is why a stream was interrupted, as metrics show it.
type Reason string

// Reasons of restarts.
const (
	Closed        Reason = "closed"         // the server ended the stream regularly
	Dropped       Reason = "dropped"        // the connection broke
	Damaged       Reason = "damaged"        // the received data is no event; a relist follows
	Silent        Reason = "silent"         // nothing was received within the inactivity timeout
	ClientTimeout Reason = "client-timeout" // the stream reached its client-side timeout
	Expired       Reason = "expired"        // 410: the resourceVersion is too old; a relist follows
	Throttled     Reason = "throttled"      // 429
	Unauthorized  Reason = "unauthorized"   // 401, or there are no credentials
	Forbidden     Reason = "forbidden"      // 403
	NotFound      Reason = "not-found"      // 404: the resource does not exist
	Unavailable   Reason = "unavailable"    // 5xx, or there is no connection
	Rejected      Reason = "rejected"       // any other status
)

// Restart is an interruption.
type Restart struct {
	Reason  Reason
	Err     error         // nil if Closed
	Delay   time.Duration // delay before the next attempt
	Attempt int           // failures in a row; 0 if the stream received something before
}
