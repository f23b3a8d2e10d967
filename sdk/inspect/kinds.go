package inspect

// HandlerKind is the kind of registration of a handler.
type HandlerKind string

// The kinds of handlers.
const (
	KindCreate    HandlerKind = "create"
	KindUpdate    HandlerKind = "update"
	KindDelete    HandlerKind = "delete"
	KindResume    HandlerKind = "resume"
	KindField     HandlerKind = "field"
	KindSub       HandlerKind = "sub" // a sub-handler
	KindEvent     HandlerKind = "event"
	KindDaemon    HandlerKind = "daemon"
	KindTimer     HandlerKind = "timer"
	KindReconcile HandlerKind = "reconcile"
	KindIndex     HandlerKind = "index"
	KindValidate  HandlerKind = "validate"
	KindMutate    HandlerKind = "mutate"
	KindStartup   HandlerKind = "startup"
	KindCleanup   HandlerKind = "cleanup"
	KindLogin     HandlerKind = "login"
	KindProbe     HandlerKind = "probe"
)

// Reason is the reason of a [Cause].
type Reason string

// The reasons.
const (
	ReasonCreate Reason = "create"
	ReasonUpdate Reason = "update"
	ReasonDelete Reason = "delete"
	ReasonResume Reason = "resume" // the object is unchanged, and this process sees it for the first time
	ReasonNoop   Reason = "noop"   // the essence has not changed
	ReasonFree   Reason = "free"   // the object is being deleted, and does not have the operator's finalizer
)

// DiffOp is the kind of change of a field.
type DiffOp string

// The operations of a diff.
const (
	DiffAdd    DiffOp = "add"    // the field was absent or null
	DiffChange DiffOp = "change" // the field had another value
	DiffRemove DiffOp = "remove" // the new field is absent or null
)

// ErrorKind is the kind of a [HandlerError].
type ErrorKind string

// The kinds of errors.
const (
	ErrorTemporary ErrorKind = "temporary"
	ErrorPermanent ErrorKind = "permanent"
	ErrorArbitrary ErrorKind = "arbitrary"
	ErrorTimeout   ErrorKind = "timeout" // the handler's time limit is exceeded
	ErrorRetries   ErrorKind = "retries" // the maximum number of attempts is reached
	ErrorPanic     ErrorKind = "panic"
	ErrorAdmission ErrorKind = "admission" // an admission handler has denied the request
)

// MismatchKind is the kind of condition of a [Mismatch].
type MismatchKind string

// The kinds of conditions.
const (
	MismatchReason     MismatchKind = "reason"  // the handler is for another reason; Wants is its kind or reasons
	MismatchDeleted    MismatchKind = "deleted" // the object is being deleted
	MismatchLabel      MismatchKind = "label"
	MismatchAnnotation MismatchKind = "annotation"
	MismatchField      MismatchKind = "field" // the field is absent, or has not changed
	MismatchValue      MismatchKind = "value" // neither the last-handled nor the current value of the field matches
	MismatchOld        MismatchKind = "old"   // the last-handled value of the field does not match
	MismatchNew        MismatchKind = "new"   // the current value of the field does not match
	MismatchWhen       MismatchKind = "when"  // a function of kopf.When returned false
)

// UnservedReason is the reason why a selector is not served.
type UnservedReason string

// The reasons not to serve a selector.
const (
	UnservedUnresolved  UnservedReason = "unresolved"  // the cluster has no such resource
	UnservedAmbiguous   UnservedReason = "ambiguous"   // several resources match
	UnservedUnwatchable UnservedReason = "unwatchable" // the resource cannot be watched
	UnservedUnpatchable UnservedReason = "unpatchable" // the resource cannot be patched
	UnservedConflicting UnservedReason = "conflicting" // two handlers of the resource have the same id
)

// LogLevel is the level of a [LogLine].
type LogLevel string

// The levels, from the lowest to the highest one.
const (
	LevelDebug LogLevel = "debug"
	LevelInfo  LogLevel = "info"
	LevelWarn  LogLevel = "warn"
	LevelError LogLevel = "error"
)
