package inspect

import "time"

// Snapshot is the state of an operator at one point in time.
type Snapshot struct {
	Version  int    `json:"version"`
	Revision uint64 `json:"revision"` // increases with every change

	Operator Operator   `json:"operator"`
	Handlers []Handler  `json:"handlers"` // handlers in order of registration
	Served   []Resource `json:"served"`   // resources that are being watched

	// Unserved are the selectors without a resource that can be watched, or reviewed by admission handlers.
	Unserved []Unserved `json:"unserved,omitempty"`

	// Reviewed are the keys of the resources with admission handlers. Other handlers may watch them, too.
	Reviewed []string `json:"reviewed,omitempty"`

	// Indices are the operator's indices, sorted by id. [Client.Index] returns their contents.
	Indices []Index `json:"indices,omitempty"`

	// Admission is the state of the webhooks; nil if the operator has no admission handlers.
	Admission *Admission `json:"admission,omitempty"`

	Objects []*Object `json:"objects"`           // unordered; in a [Replica], an unchanged object is the same pointer in later snapshots
	Reviews []Review  `json:"reviews,omitempty"` // the newest reviews, oldest first; at most [MaxReviews]
	Log     []LogLine `json:"log"`               // newest log lines, oldest first
}

// Operator is the state of the operator's process.
type Operator struct {
	Identity   string        `json:"identity"`
	PID        int           `json:"pid"`
	Started    time.Time     `json:"started"`
	State      OperatorState `json:"state"`
	Server     string        `json:"server"`               // address of the API server
	Finalizer  string        `json:"finalizer,omitempty"`  // name of the operator's finalizer; empty for older operators, which do not report it
	Records    [][]string    `json:"records,omitempty"`    // paths of the object fields with the operator's records: see [Description.Records]
	Hidden     [][]string    `json:"hidden,omitempty"`     // paths of fields whose values must not be shown, besides the data of Secrets
	Namespaces []string      `json:"namespaces,omitempty"` // names and patterns of the served namespaces; empty for the whole cluster
	Reason     string        `json:"reason,omitempty"`     // error or peer that caused the state
	Pauses     []Pause       `json:"pauses,omitempty"`     // reasons of [OperatorPaused], oldest first

	// Peerings are the peering objects that the operator takes part in.
	Peerings []Peering `json:"peerings,omitempty"`
	// Shards are the shards that the operator handles; nil if it shares no objects with other replicas.
	Shards *Shards `json:"shards,omitempty"`

	// Settled means that all known objects were handled, and that the initial listing of all served resources is
	// complete.
	Settled bool `json:"settled"`

	// CatchUp is the progress while listed objects have yet to be handled; nil if there are none.
	CatchUp *CatchUp `json:"catchUp,omitempty"`

	// Lost is the reason why the cluster does not respond; empty if it does.
	Lost string `json:"lost,omitempty"`

	// Alarms are the current problems that no handler reports as an error, oldest first.
	Alarms []Alarm `json:"alarms,omitempty"`
}

// Shards are an operator's part of the objects that it shares with other replicas.
type Shards struct {
	Total int    `json:"total"` // number of shards of all replicas
	Key   string `json:"key"`   // hashed property: "uid" or "namespace"
	Own   []int  `json:"own"`   // this replica's shards, from 0, in ascending order
}

// OperatorState is the state of the operator as a whole.
type OperatorState string

// The states of an operator.
const (
	OperatorStarting OperatorState = "starting"
	OperatorRunning  OperatorState = "running"
	OperatorPaused   OperatorState = "paused"
	OperatorStopping OperatorState = "stopping"
)

// Pause is a reason why the operator handles no objects. There can be several.
type Pause struct {
	Kind   PauseKind `json:"kind"`
	Reason string    `json:"reason"` // reason for people, such as "by alice@laptop, priority 200"
	Since  time.Time `json:"since"`
	Until  time.Time `json:"until,omitzero"` // time when the pause ends on its own; zero if the end is unknown
	By     []string  `json:"by,omitempty"`   // identities of the clients or operators that caused the pause
}

// PauseKind is the kind of a reason to pause.
type PauseKind string

// The kinds of reasons to pause.
const (
	PauseRequest PauseKind = "request" // [IntentPause]
	PauseStandby PauseKind = "standby" // another replica is the leader, or no leader was elected yet
	PausePeering PauseKind = "peering" // another operator has precedence, or the peers are not known yet
)

// Resource is a resource that is being watched.
type Resource struct {
	Key        string `json:"key"`  // "kopfexamples.v1.kopf.dev"
	Kind       string `json:"kind"` // "KopfExample"
	Short      string `json:"short"`
	Namespaced bool   `json:"namespaced"`
	Listed     bool   `json:"listed"` // the initial listing is complete

	// Drift has the fields of the handlers' Go types that the schema of the resource lacks.
	Drift []Drift `json:"drift,omitempty"`
}

// Drift is a field of a Go type that the schema of a resource lacks. Its value is always empty, because the API
// server prunes fields that are not in the schema.
type Drift struct {
	Field    string   `json:"field"`    // such as "spec.siez"
	Type     string   `json:"type"`     // the Go type, such as "claims.Claim"
	Handlers []string `json:"handlers"` // ids of the handlers that use the type, sorted
}

// Unserved is a selector without a resource that can be served.
type Unserved struct {
	Selector string         `json:"selector"`
	Reason   UnservedReason `json:"reason"`
	Handlers []string       `json:"handlers"`
	Matches  []string       `json:"matches,omitempty"` // keys of the resources if ambiguous
}

// Handler is a registered handler.
type Handler struct {
	ID       string      `json:"id"`
	Kind     HandlerKind `json:"kind"`
	Selector string      `json:"selector"`
	Field    string      `json:"field,omitempty"`
	Source   string      `json:"source"`            // file:line of the registration
	Reasons  []Reason    `json:"reasons,omitempty"` // reasons for which the handler is called; empty means all reasons of its kind
	Filters  []string    `json:"filters,omitempty"`
	Retries  int         `json:"retries,omitempty"` // maximum number of attempts; 0 means no limit
	Version  string      `json:"version,omitempty"` // version of the handler's code; empty if it has none
	Slots    *Slots      `json:"slots,omitempty"`   // limit of the calls for different objects; nil if there is none
	Stats    Stats       `json:"stats"`
	Recent   *Recent     `json:"recent,omitempty"` // nil until the first attempt has ended
}

// Slots are a limit of the calls of one or several handlers.
type Slots struct {
	ID      int      `json:"id"`            // equal for handlers that share the limit
	Running int      `json:"running"`       // maximum number of calls that run at the same time
	Rate    int      `json:"rate,omitzero"` // maximum number of calls that begin in each period; 0 means no limit
	Per     Duration `json:"per,omitzero"`  // the period
}

// Recent are the attempts of a handler in the last minutes, in steps of equal length.
type Recent struct {
	Until time.Time  `json:"until"` // end of the newest of the steps in Runs and Took
	Step  Duration   `json:"step"`
	Runs  []int      `json:"runs"` // number of attempts that ended in each step, the oldest step first
	Took  []Duration `json:"took"` // average duration of the attempts; 0 without attempts
}

// Stats are a handler's counts since the operator started.
type Stats struct {
	Runs      int       `json:"runs"`
	Succeeded int       `json:"succeeded"`
	Retried   int       `json:"retried"`          // number of failed attempts that are retried
	Failed    int       `json:"failed"`           // number of permanent failures
	Waited    int       `json:"waited,omitempty"` // number of attempts that returned a temporary error
	Denied    int       `json:"denied,omitempty"` // number of requests that an admission handler denied
	P50       Duration  `json:"p50"`              // median duration of an attempt
	P99       Duration  `json:"p99"`              // 99th percentile
	LastError string    `json:"lastError,omitempty"`
	LastAt    time.Time `json:"lastAt,omitzero"` // time of the last error
}

// Ref identifies an object.
type Ref struct {
	Resource  string `json:"resource"` // key of its [Resource]
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Object is the state of an object that the operator has seen.
type Object struct {
	Ref

	Kind            string    `json:"kind"`
	Short           string    `json:"short"`
	Created         time.Time `json:"created"`
	ResourceVersion string    `json:"resourceVersion"`
	Generation      int64     `json:"generation"`

	State ObjectState `json:"state"`

	// Owners are the owners that the object names.
	Owners []Owner `json:"owners,omitempty"`

	// Cause is the current cause. After the cause is done, it stays until the next cause.
	Cause *Cause `json:"cause,omitempty"`

	// Handlers are the decisions about all handlers of the resource. Handlers that are called come first.
	// Sub-handlers follow their parents.
	Handlers []HandlerState `json:"handlers"`

	// Paused is set while an annotation of the object pauses its handling.
	Paused *ObjectPause `json:"paused,omitempty"`

	// Waiting is set by operators built with an earlier SDK, until they see the version that their own patch made.
	Waiting *Waiting `json:"waiting,omitempty"`

	// Unanswered is a PATCH of the object to which the API server has not responded for more than 2 seconds; nil if there is
	// none.
	Unanswered *Unanswered `json:"unanswered,omitempty"`

	// Failing is set from a failed attempt to handle the object until an attempt succeeds, for example while the API server
	// denies the operator's own changes.
	Failing *Failing `json:"failing,omitempty"`

	// Unreadable has the operator's unreadable records on the object, in the order of discovery. The object is handled as if
	// these records did not exist.
	Unreadable []Unreadable `json:"unreadable,omitempty"`

	// Finalizer means that the object has the operator's finalizer.
	Finalizer bool `json:"finalizer,omitempty"`

	// Awaits has the names of children that the operator must delete before it removes its finalizer from the deleted object.
	Awaits []string `json:"awaits,omitempty"`

	// Children are the numbers of the object's children; nil if no reconcile handler has been called for the object.
	// [Client.Children] returns the children.
	Children *ChildCounts `json:"children,omitempty"`

	// Pass is the last pass of the reconcile handler; nil if there was none.
	Pass *Pass `json:"pass,omitempty"`

	// History are earlier causes, newest first. Old causes are dropped.
	History []PastCause `json:"history,omitempty"`
}

// Owner is an owner reference of an object.
type Owner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Controller bool   `json:"controller,omitempty"`
}

// Handler returns the object's handler with an id; nil if there is none. If several handlers have the id, it prefers the handler
// that is called for the current cause.
func (o *Object) Handler(id string) *HandlerState {
	for i := range o.Handlers {
		if o.Handlers[i].ID == id {
			return &o.Handlers[i]
		}
	}
	return nil
}

// ObjectPause is the reason why the operator does not handle an object.
type ObjectPause struct {
	Reason string `json:"reason,omitempty"` // the value of the annotation
}

// Failing is the last failure of attempts to handle an object. The operator keeps the outcomes of handlers until it can write
// them.
type Failing struct {
	Since    time.Time `json:"since"`              // time of the first failure
	DeniedBy string    `json:"deniedBy,omitempty"` // name of the admission webhook or policy that denies a change; empty for other failures
	Message  string    `json:"message"`            // explanation of the denial, or the error
	Next     time.Time `json:"next,omitzero"`      // time of the next attempt
}

// String returns the message, after "denied by NAME: " for a denial.
func (f *Failing) String() string {
	if f.DeniedBy != "" {
		return "denied by " + f.DeniedBy + ": " + f.Message
	}
	return f.Message
}

// Unreadable is a record on an object that could not be decoded.
type Unreadable struct {
	What  string `json:"what"`  // kind of the record, such as "the progress of handler \"create\""
	Where string `json:"where"` // name of the annotation, or path of the field
	Error string `json:"error"`
	Aside string `json:"aside"` // name of the annotation to which the record is moved
}

// ObjectState is the state of an object. If several apply, the first one in the order of declaration
// counts.
type ObjectState string

// The states of an object.
const (
	StateStuck    ObjectState = "stuck"    // the finalizer has blocked the deletion for a long time, or the API server denies the finalizer's removal
	StateFailed   ObjectState = "failed"   // a handler has failed permanently
	StateRunning  ObjectState = "running"  // a handler is running
	StatePaused   ObjectState = "paused"   // an annotation pauses the object: see [Object].Paused
	StateWaiting  ObjectState = "waiting"  // the API server has not responded to the operator's patch; with an earlier SDK, the operator may also wait for the event of its own patch
	StateRetrying ObjectState = "retrying" // a handler waits for a retry, or the handling of the object is retried: see [Object].Failing
	StateDeleting ObjectState = "deleting" // the deletion is being handled
	StateIgnored  ObjectState = "ignored"  // no handler matches the object
	StateSettled  ObjectState = "settled"  // all handlers are done, and no daemon or timer has just failed
)

// Cause describes the change of an object that the handlers are called for.
type Cause struct {
	Reason  Reason    `json:"reason"`
	Seen    time.Time `json:"seen"`
	Version string    `json:"version"` // resourceVersion in which the operator saw the cause

	// Done is the time when all handlers were done; zero before.
	Done time.Time `json:"done,omitzero"`

	// LastHandled is the time when the object was last handled before this cause; zero if this process does not know it. First
	// means that the object was never handled.
	LastHandled time.Time `json:"lastHandled,omitzero"`
	First       bool      `json:"first,omitempty"`

	Diff []DiffItem `json:"diff,omitempty"`
}

// DiffItem is one difference from the last-handled state.
type DiffItem struct {
	Op   DiffOp `json:"op"`
	Path string `json:"path"`
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new,omitempty"`
}

// HandlerState is the state of one handler for one object.
type HandlerState struct {
	ID   string      `json:"id"`
	Kind HandlerKind `json:"kind"` // empty in [PhaseUnknown]

	// Kinds are all kinds of a function that is registered several times under its id; nil if the function has one kind.
	// Kind is the kind for the current cause or, if there is none, the kind that matches best.
	Kinds []HandlerKind `json:"kinds,omitempty"`

	Parent  string       `json:"parent,omitempty"`
	State   HandlerPhase `json:"state"`
	Started time.Time    `json:"started,omitzero"` // time of the first attempt

	Attempt int `json:"attempt,omitempty"` // number of attempts begun so far
	Runs    int `json:"runs,omitempty"`    // number of calls of a daemon or timer that ended, in this process
	Limit   int `json:"limit,omitempty"`   // maximum number of attempts; 0 means no limit

	// MaxDelay is the delay up to which the delays between attempts grow; 0 if they do not grow.
	MaxDelay Duration `json:"maxDelay,omitempty"`

	// Slot means that the handler is due and waits for a slot: see [Handler].Slots.
	Slot bool `json:"slot,omitempty"`

	Next  time.Time     `json:"next,omitzero"`   // time of the next attempt
	Took  Duration      `json:"took,omitempty"`  // duration of the last attempt
	Error *HandlerError `json:"error,omitempty"` // error of the last attempt

	// Why is the condition that excludes a handler whose State is [PhaseFiltered] or [PhaseOtherCause].
	Why *Mismatch `json:"why,omitempty"`

	// Unrecorded is the time since when the outcome of the last attempt is only in the memory of the operator,
	// because the API server has not accepted its record yet; zero if it is recorded.
	Unrecorded time.Time `json:"unrecorded,omitzero"`

	// Attempts are the attempts of this process. Old attempts are dropped.
	Attempts []Attempt `json:"attempts,omitempty"`

	// Steps are the steps of the unfinished handling, or of a failed one, in the order of their calls.
	Steps []Step `json:"steps,omitempty"`
}

// HandlerPhase is the state of a handler for one object.
type HandlerPhase string

// The phases of a handler.
const (
	PhaseRunning    HandlerPhase = "running"
	PhaseRetrying   HandlerPhase = "retrying"
	PhaseNext       HandlerPhase = "next" // due in one of the next cycles
	PhaseDone       HandlerPhase = "done"
	PhaseFailed     HandlerPhase = "failed"
	PhaseFiltered   HandlerPhase = "filtered"    // excluded by a filter: see Why
	PhaseOtherCause HandlerPhase = "other cause" // registered for another reason: see Why
	PhaseSuperseded HandlerPhase = "superseded"
	PhaseUnknown    HandlerPhase = "unknown" // the object has progress of a handler that does not exist
	PhaseAlive      HandlerPhase = "alive"   // the daemon is running
	PhaseStopping   HandlerPhase = "stopping"
	PhaseTicking    HandlerPhase = "ticking" // the timer is running
)

// HandlerError is the error of an attempt.
type HandlerError struct {
	Kind    ErrorKind `json:"kind"`
	Message string    `json:"message"`
}

// Attempt is one call of a handler.
type Attempt struct {
	At    time.Time     `json:"at"`
	Took  Duration      `json:"took"`
	Error *HandlerError `json:"error,omitempty"`
}

// Mismatch is the first condition of a handler that an object does not meet.
type Mismatch struct {
	Kind  MismatchKind `json:"kind"`
	Path  string       `json:"path,omitempty"`  // path of the label, annotation or field; name of a "when" function
	Is    string       `json:"is,omitempty"`    // actual value; empty if Absent
	Wants string       `json:"wants,omitempty"` // required value, "present", "absent", "changed", or the reason

	// Absent means that there is no value at the path.
	Absent bool `json:"absent,omitempty"`
}

// Waiting describes an object that waits for the version that the operator's own patch made. Only operators built with
// an earlier SDK wait.
type Waiting struct {
	Wrote    string    `json:"wrote"`
	Seen     string    `json:"seen"`
	Deadline time.Time `json:"deadline"`
}

// Unanswered describes a PATCH that the API server has not answered.
type Unanswered struct {
	Subresource string    `json:"subresource,omitempty"` // empty for the object itself
	Since       time.Time `json:"since"`                 // start of the first attempt of the request
}

// PastCause is a cause that is done or superseded.
type PastCause struct {
	Reason       Reason    `json:"reason"`
	At           time.Time `json:"at"`
	SupersededAt string    `json:"supersededAt,omitempty"` // resourceVersion in which a newer cause superseded this cause
	Handlers     []string  `json:"handlers,omitempty"`     // handlers that were called
	Failed       []string  `json:"failed,omitempty"`       // failed handlers
	Took         Duration  `json:"took,omitempty"`         // time from the first sight of the change until all handlers were done
}

// LogLine is one line of the operator's log.
type LogLine struct {
	At      time.Time `json:"at"`
	Level   LogLevel  `json:"level"`
	Object  *Ref      `json:"object,omitempty"`
	Handler string    `json:"handler,omitempty"`
	Message string    `json:"message"` // message with the attributes
}

// Message is one line of the stream. Exactly one of its pointers and lists is set.
type Message struct {
	Revision uint64 `json:"revision"`

	// More means that the next message belongs to the same batch: the state is consistent only after the
	// last message of a batch.
	More bool `json:"more,omitempty"`

	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Operator *Operator `json:"operator,omitempty"`
	Handlers []Handler `json:"handlers,omitempty"` // all handlers
	Served   *Served   `json:"served,omitempty"`
	Indices  []Index   `json:"indices,omitempty"` // all indices
	Objects  []*Object `json:"objects,omitempty"` // new states of objects, which replace the previous states
	Gone     []Ref     `json:"gone,omitempty"`    // objects that no longer exist

	Admission *Admission `json:"admission,omitempty"`
	Reviews   []Review   `json:"reviews,omitempty"` // new reviews, oldest first

	Log     []LogLine `json:"log,omitempty"`
	Dropped int       `json:"dropped,omitempty"` // number of lost log lines before Log
	Bye     *string   `json:"bye,omitempty"`     // reason why the operator ends
}

// Served are the watched resources, the resources with admission handlers, and the selectors without a resource.
type Served struct {
	Resources []Resource `json:"resources"`
	Unserved  []Unserved `json:"unserved,omitempty"`
	Reviewed  []string   `json:"reviewed,omitempty"`
}
