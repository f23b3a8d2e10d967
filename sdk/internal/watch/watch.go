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
// If an object was deleted during an interruption, its last event is Deleted. The event's object has only the identity,
// and the resourceVersion of the first list without the object.
type Event struct {
	Type   string
	Object *object.Object

	// Complete is the resourceVersion up to which a list includes all writes, in events of type Listed. An older write
	// that the list does not include is lost. Complete is [Everything] if the server lost its newer state. It is 0 if
	// versions cannot be compared, and in other events.
	Complete uint64
}

// Everything is a resourceVersion that is newer than all others.
const Everything = math.MaxUint64

// Defaults of Options.
const (
	DefaultInactivityTimeout = 70 * time.Second
	DefaultReconnectBackoff  = 100 * time.Millisecond
)

// Options configure a stream.
type Options struct {
	Client    *kube.Client
	Resource  *resources.Resource
	Namespace string // empty means the whole cluster

	// LabelSelector selects the objects on the server. If an object stops matching, the stream delivers a Deleted event.
	// Optional.
	LabelSelector string

	// ShardSelector returns a selection of the objects by ranges of a hash. Servers that do not support the selection
	// send all objects. It is called for each request, because the shards can change. Optional.
	ShardSelector func() string

	// Keep reports whether the stream passes on the events of an object; it drops all others. The result must not depend
	// on fields of the object that can change. It may become false while the stream runs, for example if another replica
	// takes over a shard. Optional.
	Keep func(*object.Object) bool

	// Reduce drops the parts of a received object's text that neither Keep nor Handle reads, so that a long list takes less memory.
	// Optional.
	Reduce func(*object.Object)

	// Handle is called for every event, in order. The stream waits until Handle returns.
	Handle func(Event)

	// Listed is called after every list, when all objects of the list were handled. After the first call, all existing
	// objects are known. Optional.
	Listed func(count int)

	// Restarted is called when the stream is interrupted or cannot be started, before the
	// delay. It may be called concurrently with Handle, but not after Run returned. Optional.
	Restarted func(Restart)

	// ServerTimeout is how long the server keeps a stream open. Defaults to the server's limit.
	ServerTimeout time.Duration

	// ClientTimeout is how long the client keeps a stream open. There is no limit if it is not positive.
	ClientTimeout time.Duration

	// InactivityTimeout is how long a stream may receive no byte. Servers send a bookmark about every minute. Defaults to
	// 70s; there is no limit if it is negative.
	InactivityTimeout time.Duration

	// ReconnectBackoff is the minimum delay between attempts. It doubles with each consecutive failure, up to 10s.
	// Defaults to 100ms. If it is negative, there is no delay after a stream that ended regularly.
	ReconnectBackoff time.Duration

	KeepManagedFields bool

	// MetadataOnly requests nothing but type and metadata of the objects. Servers that cannot do that send whole objects.
	MetadataOnly bool

	Logger *slog.Logger // logger of the reflector's messages, at debug level; may be nil
}

// Reason is the reason of an interruption; metrics have it as a label.
type Reason string

// Reasons of restarts.
const (
	Closed        Reason = "closed"         // the server ended the stream regularly
	Dropped       Reason = "dropped"        // the connection broke
	Damaged       Reason = "damaged"        // the received data is not a valid event; a relist follows
	Silent        Reason = "silent"         // nothing was received within the inactivity timeout
	ClientTimeout Reason = "client-timeout" // the stream reached its client-side timeout
	Expired       Reason = "expired"        // 410: the resourceVersion is too old; a relist follows
	Throttled     Reason = "throttled"      // 429
	Unauthorized  Reason = "unauthorized"   // 401, or the client has no credentials
	Forbidden     Reason = "forbidden"      // 403
	NotFound      Reason = "not-found"      // 404: the resource does not exist
	Unavailable   Reason = "unavailable"    // 5xx, or the connection failed
	Rejected      Reason = "rejected"       // any other status
)

// Restart is an interruption of a stream.
type Restart struct {
	Reason  Reason
	Err     error         // nil if Closed
	Delay   time.Duration // delay before the next attempt
	Attempt int           // number of consecutive failures; 0 if the stream received an event
}
