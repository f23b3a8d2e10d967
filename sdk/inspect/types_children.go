package inspect

import "time"

// ChildCounts are the numbers of children of an object. They are exact, even if a [ChildList] omits children.
type ChildCounts struct {
	Ready  int `json:"ready"`
	Failed int `json:"failed,omitempty"` // number of children that do not get ready without a change
	Total  int `json:"total"`            // number of existing children, and of children that the last pass could not create
}

// ChildList are the children of one object, or of all objects. The children of an object are sorted by the declarations of their
// kinds, then by namespace and name. Children that do not exist come last.
type ChildList struct {
	Children []Child `json:"children"`
	Omitted  int     `json:"omitted,omitempty"` // number of children that are left out, because their object has more than [MaxChildren]
}

// MaxChildren is the maximum number of children of one object in a [ChildList]. Children that are not ready precede the others.
const MaxChildren = 100

// Child is a child of an object with a reconcile handler.
type Child struct {
	// Parent is the object. If the operator does not know the object, Parent has only the resource and the UID, and the child is an
	// orphan.
	Parent Ref `json:"parent"`

	KindRef

	State   ChildState `json:"state,omitempty"`   // empty if the child does not exist
	Message string     `json:"message,omitempty"` // reason for the state, such as "1 of 3 replicas are ready"

	// Since is the time when the operator saw the last change of State, or when it pruned the child. It is zero for a state that is
	// older than the operator's process.
	Since time.Time `json:"since,omitzero"`

	Applied string      `json:"applied,omitempty"` // hash of the object that was last applied, such as "1:9f3c5a7b01d2e468"; empty if the operator owns no field
	Result  ChildResult `json:"result,omitempty"`  // result of the last pass for the child; empty if that pass has not applied the child
	Error   string      `json:"error,omitempty"`   // reason of [ResultRefused] or [ResultAwaited]

	// Drift has the applied fields that others have changed in the lifetime of the operator's process: at most 10, the newest last.
	Drift []FieldDrift `json:"drift,omitempty"`
}

// KindRef identifies an object, and has its kind.
type KindRef struct {
	Ref
	Kind string `json:"kind"`
}

// ChildState classifies a child by its readiness, by the rules of kstatus.
type ChildState string

// The states of children.
const (
	ChildReady       ChildState = "ready"
	ChildProgressing ChildState = "progressing"
	ChildFailed      ChildState = "failed"      // the child does not get ready without a change
	ChildTerminating ChildState = "terminating" // the child is being deleted
	ChildUnknown     ChildState = "unknown"     // the controller of the child has not written a status, and the kind has no rule
)

// ChildResult is the result of a pass for a child.
type ChildResult string

// The results of passes for children.
const (
	ResultCreated   ChildResult = "created"
	ResultChanged   ChildResult = "changed"   // the handler wanted another text, or the operator adopted an existing object
	ResultReverted  ChildResult = "reverted"  // the operator took fields back from others
	ResultYielded   ChildResult = "yielded"   // the child is as it was applied, except for fields that are left to others
	ResultUnchanged ChildResult = "unchanged" // the child is as it was applied
	ResultRefused   ChildResult = "refused"   // the API server refused the child, or the child belongs to another owner
	ResultAwaited   ChildResult = "awaited"   // the child cannot be applied yet, for example because it is being deleted
	ResultPruned    ChildResult = "pruned"    // the last pass, or another one in the last 10 minutes, did not apply the child, and deleted it
)

// FieldDrift is an applied field that others have changed or removed.
type FieldDrift struct {
	Path    string       `json:"path"`              // such as "spec.replicas"
	Manager string       `json:"manager,omitempty"` // field manager that took the field; empty if the field was removed, or if the manager is unknown
	Scale   bool         `json:"scale,omitempty"`   // the manager took the field through the subresource scale, as autoscalers do
	At      time.Time    `json:"at"`                // time when the operator last noticed the drift
	Outcome DriftOutcome `json:"outcome"`
	Count   int          `json:"count"` // number of times with this manager and outcome
}

// DriftOutcome is the consequence of a [FieldDrift].
type DriftOutcome string

// The consequences of drift.
const (
	DriftReverted DriftOutcome = "reverted" // the operator took the field back
	DriftReported DriftOutcome = "reported" // the field is left to the manager, and the log has a warning
	DriftYielded  DriftOutcome = "yielded"  // the field is left to the manager
)

// Pass is a call of an object's reconcile handler that has ended.
type Pass struct {
	Number  int         `json:"number"` // number of passes of the object in this process, including this one
	Ended   time.Time   `json:"ended"`
	Took    Duration    `json:"took"` // duration with the pruning
	Outcome PassOutcome `json:"outcome"`
	Message string      `json:"message,omitempty"` // reason of the wait, or the error
	Until   time.Time   `json:"until,omitzero"`    // time of the next pass at the latest; zero if nothing but a change causes one
	Wakes   []Wake      `json:"wakes"`             // reasons for the pass, the oldest first; at most 16

	Applied   int `json:"applied"`             // number of applied children
	Unchanged int `json:"unchanged,omitempty"` // number of them that stayed as they were
	Pruned    int `json:"pruned,omitempty"`
	Refused   int `json:"refused,omitempty"`

	// Undeclared are the kinds of children of an earlier release that no handler declares any longer, such as "ingresses.networking.k8s.io".
	Undeclared []string `json:"undeclared,omitempty"`
}

// PassOutcome is the outcome of a [Pass].
type PassOutcome string

// The outcomes of passes.
const (
	PassComplete PassOutcome = "complete"
	PassWaiting  PassOutcome = "waiting"  // it ended early, and continues when a child changes
	PassRetrying PassOutcome = "retrying" // it failed, and is retried
	PassFailed   PassOutcome = "failed"   // it failed permanently
)

// Wake is a reason for a [Pass].
type Wake struct {
	Kind    WakeKind   `json:"kind"`
	Type    string     `json:"type,omitempty"`    // type of the watch event: "ADDED", "MODIFIED" or "DELETED"
	Object  *KindRef   `json:"object,omitempty"`  // changed child, or watched object; nil for other reasons
	Changes []DiffItem `json:"changes,omitempty"` // changed fields of the object, as far as its readiness depends on them or the handler observes them
}

// WakeKind is the kind of a [Wake].
type WakeKind string

// The kinds of reasons for a pass.
const (
	WakeObject  WakeKind = "object"  // the object is new, or its essence has changed
	WakeStart   WakeKind = "start"   // the operator has started, or a paced write is due
	WakeChild   WakeKind = "child"   // a child has changed
	WakeVerify  WakeKind = "verify"  // another client has changed a child, apparently in no applied field
	WakeWatched WakeKind = "watched" // an object that is no child has changed
	WakeRecheck WakeKind = "recheck" // the time of a recheck or of a wait is over, or the cluster now serves a declared kind
	WakeRetry   WakeKind = "retry"   // the last pass failed
	WakeRequest WakeKind = "request" // a person has asked for it
)
