package inspect

import "time"

// Snapshot is everything that is known at one moment.
type Snapshot struct {
	Version  int    `json:"version"`
	Revision uint64 `json:"revision"` // grows with every change

	Operator Operator   `json:"operator"`
	Handlers []Handler  `json:"handlers"` // in the order of registration
	Served   []Resource `json:"served"`   // what is being watched

	// Unserved are the selectors that match nothing that could be watched.
	Unserved []Unserved `json:"unserved,omitempty"`

	// Indices are what the operator keeps in memory of objects, by their ids in order. What is
	// in them is asked for with [Client.Index].
	Indices []Index `json:"indices,omitempty"`

	Objects []Object  `json:"objects"` // in no particular order
	Log     []LogLine `json:"log"`     // the newest lines, oldest first
}

// Operator is the process itself.
type Operator struct {
	Identity   string        `json:"identity"`
	PID        int           `json:"pid"`
	Started    time.Time     `json:"started"`
	State      OperatorState `json:"state"`
	Server     string        `json:"server"`               // of the cluster
	Namespaces []string      `json:"namespaces,omitempty"` // patterns; none is the whole cluster
	Reason     string        `json:"reason,omitempty"`     // the error or the peer behind the state

	// Settled tells that every object seen so far has been handled, and that
	// the initial listing of everything served is complete.
	Settled bool `json:"settled"`

	// Lost is the reason why the cluster does not answer; empty if it does.
	Lost string `json:"lost,omitempty"`
}

// OperatorState is what the operator as a whole does.
type OperatorState string

// The states of an operator.
const (
	OperatorStarting OperatorState = "starting"
	OperatorRunning  OperatorState = "running"
	OperatorPaused   OperatorState = "paused"
	OperatorStopping OperatorState = "stopping"
)

// Resource is a kind of resource that is being watched.
type Resource struct {
	Key        string `json:"key"`  // "kopfexamples.v1.kopf.dev"
	Kind       string `json:"kind"` // "KopfExample"
	Short      string `json:"short"`
	Namespaced bool   `json:"namespaced"`
	Listed     bool   `json:"listed"` // the initial listing is complete
}

// Unserved is a selector that selects nothing, or nothing that can be served.
type Unserved struct {
	Selector string   `json:"selector"`
	Reason   string   `json:"reason"` // "unresolved", "ambiguous", "unwatchable", "unpatchable"
	Handlers []string `json:"handlers"`
	Matches  []string `json:"matches,omitempty"` // the keys of resources, if ambiguous
}

// Handler is a registered handler.
type Handler struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"` // "create", "field", "event", …
	Selector string   `json:"selector"`
	Field    string   `json:"field,omitempty"`
	Source   string   `json:"source"` // file:line of the registration
	Filters  []string `json:"filters,omitempty"`
	Retries  int      `json:"retries,omitempty"` // 0 is no limit
	Stats    Stats    `json:"stats"`
}

// Stats are a handler's counts since the operator started.
type Stats struct {
	Runs      int           `json:"runs"`
	Succeeded int           `json:"succeeded"`
	Retried   int           `json:"retried"`
	Failed    int           `json:"failed"` // for good
	P50       time.Duration `json:"p50"`
	P99       time.Duration `json:"p99"`
	LastError string        `json:"lastError,omitempty"`
	LastAt    time.Time     `json:"lastAt,omitzero"` // of the last error
}

// Ref identifies an object.
type Ref struct {
	Resource  string `json:"resource"` // the key of its [Resource]
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

// Object is an object that the operator has seen.
type Object struct {
	Ref

	Kind            string    `json:"kind"`
	Short           string    `json:"short"`
	Created         time.Time `json:"created"`
	ResourceVersion string    `json:"resourceVersion"`
	Generation      int64     `json:"generation"`

	State ObjectState `json:"state"`

	// Cause is what is being handled now, or what was handled last.
	Cause *Cause `json:"cause,omitempty"`

	// Handlers are the decisions about all handlers of the resource: those called
	// first. Sub-handlers follow their parents.
	Handlers []HandlerState `json:"handlers"`

	// Waiting is set while the operator's own patch has not come back.
	Waiting *Waiting `json:"waiting,omitempty"`

	// Finalizer tells that the object bears the operator's finalizer.
	Finalizer bool `json:"finalizer,omitempty"`

	// History are earlier causes, newest first; the oldest are forgotten.
	History []PastCause `json:"history,omitempty"`
}

// ObjectState is what an object is in the middle of. The order in which they are
// declared is that of precedence: the first that applies.
type ObjectState string

// The states of an object.
const (
	StateFailed   ObjectState = "failed"   // a handler has failed for good
	StateStuck    ObjectState = "stuck"    // it cannot be deleted because of the finalizer
	StateDeleting ObjectState = "deleting" // its deletion is being handled
	StateRunning  ObjectState = "running"  // a handler is running
	StateRetrying ObjectState = "retrying" // a handler will be tried again
	StateWaiting  ObjectState = "waiting"  // for the operator's own patch
	StatePaused   ObjectState = "paused"   // the operator is
	StateIgnored  ObjectState = "ignored"  // no handler matches it
	StateSettled  ObjectState = "settled"  // all is handled
)

// Cause is what has happened to an object.
type Cause struct {
	Reason  string    `json:"reason"` // "create", "update", "delete", "resume", "noop", "free"
	Seen    time.Time `json:"seen"`
	Version string    `json:"version"` // the resource version at which it was seen

	// Done is when all handlers were done; zero while they are not.
	Done time.Time `json:"done,omitzero"`

	// LastHandled is when the object was last handled before, as far as this
	// process knows. First tells that it never was, by any process.
	LastHandled time.Time `json:"lastHandled,omitzero"`
	First       bool      `json:"first,omitempty"`

	Diff []DiffItem `json:"diff,omitempty"`
}

// DiffItem is one difference to the state that was last handled.
type DiffItem struct {
	Op   string `json:"op"` // "add", "change", "remove"
	Path string `json:"path"`
	Old  any    `json:"old,omitempty"`
	New  any    `json:"new,omitempty"`
}

// HandlerState is what is known of one handler and one object.
type HandlerState struct {
	ID      string       `json:"id"`
	Kind    string       `json:"kind"` // as in [Handler]; "sub" for a sub-handler
	Parent  string       `json:"parent,omitempty"`
	State   HandlerPhase `json:"state"`
	Started time.Time    `json:"started,omitzero"` // of the first attempt

	Attempt int `json:"attempt,omitempty"` // attempts begun so far
	Limit   int `json:"limit,omitempty"`   // of attempts; 0 is none

	Next  time.Time     `json:"next,omitzero"` // of the next attempt
	Took  time.Duration `json:"took,omitempty"`
	Error *HandlerError `json:"error,omitempty"` // of the last attempt

	// Why tells what kept a handler out that is [PhaseFiltered] or
	// [PhaseOtherCause].
	Why *Mismatch `json:"why,omitempty"`

	// Attempts are those that this process made; the oldest are forgotten.
	Attempts []Attempt `json:"attempts,omitempty"`
}

// HandlerPhase is where a handler stands with one object.
type HandlerPhase string

// The phases of a handler.
const (
	PhaseRunning    HandlerPhase = "running"
	PhaseRetrying   HandlerPhase = "retrying"
	PhaseNext       HandlerPhase = "next" // matches, waits for its turn
	PhaseDone       HandlerPhase = "done"
	PhaseFailed     HandlerPhase = "failed"
	PhaseFiltered   HandlerPhase = "filtered"    // kept out by a filter: see Why
	PhaseOtherCause HandlerPhase = "other cause" // is for something else: see Why
	PhaseSuperseded HandlerPhase = "superseded"
	PhaseUnknown    HandlerPhase = "unknown" // progress on the object, but no such handler
	PhaseAlive      HandlerPhase = "alive"   // a daemon
	PhaseStopping   HandlerPhase = "stopping"
	PhaseTicking    HandlerPhase = "ticking" // a timer
)

// HandlerError is what an attempt ended with.
type HandlerError struct {
	Kind    string `json:"kind"` // "temporary", "permanent", "arbitrary", "timeout", "retries", "panic"
	Message string `json:"message"`
}

// Attempt is one call of a handler.
type Attempt struct {
	At    time.Time     `json:"at"`
	Took  time.Duration `json:"took"`
	Error *HandlerError `json:"error,omitempty"`
}

// Mismatch is the first condition of a handler that an object does not meet.
type Mismatch struct {
	Kind  string `json:"kind"`            // "reason", "deleted", "label", "annotation", "field", "value", "old", "new", "when"
	Path  string `json:"path,omitempty"`  // of the label, annotation or field; the function of a "when"
	Is    string `json:"is,omitempty"`    // empty with Absent
	Wants string `json:"wants,omitempty"` // a value, "present", "absent", "changed", or the reason

	// Absent tells that there is no value at the path.
	Absent bool `json:"absent,omitempty"`
}

// Waiting is for a version of the object that the operator has written.
type Waiting struct {
	Wrote    string    `json:"wrote"`
	Seen     string    `json:"seen"`
	Deadline time.Time `json:"deadline"`
}

// PastCause is a cause that is over.
type PastCause struct {
	Reason       string    `json:"reason"`
	At           time.Time `json:"at"`
	SupersededAt string    `json:"supersededAt,omitempty"` // the version that superseded it
	Handlers     []string  `json:"handlers,omitempty"`     // that were called
	Failed       []string  `json:"failed,omitempty"`       // of them
	Took         string    `json:"took,omitempty"`
}

// LogLine is one line of the operator's log.
type LogLine struct {
	At      time.Time `json:"at"`
	Level   string    `json:"level"` // "debug", "info", "warn", "error"
	Object  *Ref      `json:"object,omitempty"`
	Handler string    `json:"handler,omitempty"`
	Message string    `json:"message"` // with its attributes
}

// Message is one line of the stream. Exactly one of the pointers and lists is set.
type Message struct {
	Revision uint64 `json:"revision"`

	// More tells that the next message belongs to the same moment: the state is
	// consistent only after the last of them.
	More bool `json:"more,omitempty"`

	Snapshot *Snapshot `json:"snapshot,omitempty"`
	Operator *Operator `json:"operator,omitempty"`
	Handlers []Handler `json:"handlers,omitempty"` // all of them
	Served   *Served   `json:"served,omitempty"`
	Indices  []Index   `json:"indices,omitempty"` // all of them
	Objects  []Object  `json:"objects,omitempty"` // each replaces its former state
	Gone     []Ref     `json:"gone,omitempty"`
	Log      []LogLine `json:"log,omitempty"`
	Dropped  int       `json:"dropped,omitempty"` // log lines that were lost just before
	Bye      *string   `json:"bye,omitempty"`     // the operator ends; why
}

// Served is what is watched and what cannot be.
type Served struct {
	Resources []Resource `json:"resources"`
	Unserved  []Unserved `json:"unserved,omitempty"`
}

// Intent is something that a reader wishes to happen.
type Intent struct {
	Kind   IntentKind `json:"kind"`
	Object *Ref       `json:"object,omitempty"` // for those about one object
	Value  string     `json:"value,omitempty"`  // the level of [IntentLogLevel]
}

// IntentKind tells intents apart.
type IntentKind string

// The intents.
const (
	IntentRetry    IntentKind = "retry"    // forget the delays of the object's handlers
	IntentPause    IntentKind = "pause"    // stop handling
	IntentResume   IntentKind = "resume"   // end IntentPause
	IntentLogLevel IntentKind = "loglevel" // of the stream's log lines
	IntentStop     IntentKind = "stop"     // end the operator gracefully
)

// Reply is the answer to an intent.
type Reply struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"` // why not, for a person
}
