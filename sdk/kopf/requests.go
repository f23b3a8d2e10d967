package kopf

import (
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Request is the common part of all requests about an object. Only functions of [When] and [WhereWith] use it directly. See
// [Requests].
//
// [Requests]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#what-is-in-a-request
type Request struct {
	Resource        ResourceInfo
	Namespace, Name string // Namespace is empty for cluster-scoped objects
	UID             types.UID
	Labels          map[string]string // must not be modified
	Annotations     map[string]string // must not be modified

	// Body is the whole object as the API server sent it, without metadata.managedFields. It does not depend on the
	// handler's type.
	Body *Object

	// Patch collects changes of the object, which are sent after the handler.
	Patch *Patch

	// Memo is the object's memo: see [MemoOf].
	Memo *Memo

	// Logger adds the object's identity to log lines. In a request constructed in a test, it is nil unless you set
	// it; requests of package kopftest have a Logger.
	Logger *slog.Logger

	// Recorder posts Kubernetes events about the object.
	Recorder *Recorder

	// Param is the value of the [Param] option.
	Param any

	setCondition func(handlers.Condition) error // nil in a request constructed in a test
}

// Attempt counts the attempts of a handler and their time, across restarts of the operator. The requests of all handlers
// that are retried contain it. See [Limits].
//
// [Limits]: https://github.com/kopf-dev/kopf/blob/main/docs/errors-and-retries.md#limits
type Attempt struct {
	Retry   int           // number of earlier attempts; 0 in the first one
	Started time.Time     // time of the first attempt
	Runtime time.Duration // time since the first attempt
}

// Change is the request of [OnCreate], [OnUpdate], [OnDelete] and [OnResume].
type Change[T any] struct {
	Request
	Attempt

	Reason Reason

	// Rehandled is true if "kopf rehandle" requested the call: see [Version].
	Rehandled bool

	// Object is a copy of the current object. To change the object in the cluster, use Patch. If it does not decode into T,
	// the handler is not called and fails permanently, with an error that names the field.
	Object *T

	// Old is the last-handled state of the object, without its status and system fields; nil if the object was never
	// handled. A field that does not decode into T stays zero, and a warning names its path.
	Old *T

	// Diff has the differences from the last-handled to the current state.
	Diff Diff

	// Result is stored in the status under the handler's id when the handler succeeds. It can be any value that encodes as
	// JSON. Nil stores nothing.
	Result any

	subs   *subHandlers
	direct directSubHandlers // sub-handlers of a request constructed in a test
}

// FieldChange is the request of [OnField]; F is the type of the field. If the new value does not decode into F, the handler
// is not called and fails permanently. If the old value does not decode into F, Old stays zero, and the operator logs a
// warning.
type FieldChange[F any] struct {
	Request
	Attempt

	Reason   Reason
	Field    Path // path of the field
	Old, New F    // last-handled and current value; zero if absent
	Diff     Diff // differences inside the field; their paths are relative to it

	Rehandled bool // see [Change.Rehandled]

	Result any // see [Change.Result]

	subs   *subHandlers
	direct directSubHandlers // sub-handlers of a request constructed in a test
}

// Event is the request of [OnEvent]: one event of the watch. Kubernetes events, which "kubectl
// describe" shows, are posted by the [Recorder].
type Event[T any] struct {
	Request

	// Type is empty for an object in a list. Lists precede the watch, at the start and after an interruption.
	Type watch.EventType

	// Object is the version of the object in the event. If the object was deleted during an interruption of the watch, it
	// only has the type, name, namespace, UID and resourceVersion.
	Object *T
}

// IndexRequest is the request of an indexing function: see [NewIndex]. It has the fields of a
// [Request], except for a Patch: indexing functions change nothing.
type IndexRequest[T any] struct {
	Resource            ResourceInfo
	Namespace, Name     string // Namespace is empty for cluster-scoped objects
	UID                 types.UID
	Labels, Annotations map[string]string // must not be modified
	Body                *Object
	Memo                *Memo
	Logger              *slog.Logger
	Recorder            *Recorder
	Param               any
	Attempt             // counted from the first failure on, in memory

	Object *T
}

// Reason is the kind of change for which a handler is called. See [Causes].
//
// [Causes]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#causes
type Reason string

// The reasons for which handlers are called.
const (
	ReasonCreate Reason = "create"
	ReasonUpdate Reason = "update"
	ReasonDelete Reason = "delete"
	ReasonResume Reason = "resume" // the object was handled before, is unchanged, and is new to this run of the operator
)
