package kopf

import (
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// A Request is what all requests about an object have in common. It is embedded
// in them; handlers meet it by name only in [When]. See the chapter "Arguments" of
// Kopf's documentation.
type Request struct {
	Resource        ResourceInfo
	Namespace, Name string // Namespace is empty for cluster-scoped objects
	UID             types.UID
	Labels          map[string]string // read only
	Annotations     map[string]string // read only

	// Body is the whole object as Kubernetes sent it, whatever the handler's type,
	// without metadata.managedFields.
	Body *Object

	// Patch collects changes to the object, sent after the handler. Other
	// handlers of the same object and the framework's own marks go with it.
	Patch *Patch

	// Memo is in memory, private to the object, and gone with it. See [MemoOf].
	Memo *Memo

	// Logger carries the object's identity. Unlike the others, it must be there in a request
	// made by hand for a handler that logs: package kopftest makes such requests.
	Logger *slog.Logger

	// Recorder posts Kubernetes events about the object.
	Recorder *Recorder

	// Param is the value of the [Param] option.
	Param any
}

func (r *Request) owner() *Object { return r.Body }

// Attempt tells how often and for how long a handler has been tried, across restarts of
// the operator. It is embedded in the requests of handlers that are tried again. See the
// chapter "Arguments" of Kopf's documentation.
type Attempt struct {
	Retry   int           // 0 in the first attempt
	Started time.Time     // of the first attempt
	Runtime time.Duration // since the first attempt
}

// Change is the request of [OnCreate], [OnUpdate], [OnDelete] and [OnResume]. See the
// chapter "Arguments" of Kopf's documentation for it and the other requests.
type Change[T any] struct {
	Request
	Attempt

	Reason Reason

	// Object is the object as it is now: the handler's own copy, whose changes
	// nobody sees; see Patch for changes that count. If the object does not
	// decode into T, the handler is not called and has failed for good, with
	// the field's path.
	Object *T

	// Old is the object as it was when it was last handled, without its status
	// and system fields; nil if it never was. A field that no longer fits into
	// T is left zero, and a warning tells its path.
	Old *T

	// Diff leads from the last handled state to the current one.
	Diff Diff

	// Result, if it is set, is stored in the status under the handler's id when
	// the handler succeeds. It is anything that json can encode.
	Result any

	subs   *subHandlers
	direct directly // without subs
}

// FieldChange is the request of [OnField]: F is the type of the field. If the new
// value does not decode into F, the handler is not called and has failed for good; if
// only the old one does not, it is left zero, and a warning tells.
type FieldChange[F any] struct {
	Request
	Attempt

	Reason   Reason
	Field    string // the path
	Old, New F      // zero if absent; see the package's words on absent values
	Diff     Diff   // inside of the field: its paths start there
	Result   any    // as in [Change]

	subs   *subHandlers
	direct directly // without subs
}

// Event is the request of [OnEvent]: an event of the watch, with no state kept.
// (The events of "kubectl describe" are the [Recorder]'s.)
type Event[T any] struct {
	Request

	Type   watch.EventType // empty for an object found in the initial listing
	Object *T              // as it was last, if it is deleted
}

// IndexRequest is the request of an indexing function: see [NewIndex]. What is put into the
// Patch is not sent, since an index has no say in its objects.
type IndexRequest[T any] struct {
	Request
	Attempt // since the function has failed, in memory alone

	Object *T
}

// A Reason is what happened to the object.
type Reason string

// The reasons for which handlers are called.
const (
	ReasonCreate Reason = "create"
	ReasonUpdate Reason = "update"
	ReasonDelete Reason = "delete"
	ReasonResume Reason = "resume" // the operator has started, the object was there
)
