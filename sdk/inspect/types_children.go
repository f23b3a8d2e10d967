package inspect

import "time"

// ChildCounts are the numbers of children of an object. They include children that a [ChildList] omits.
type ChildCounts struct {
	Ready  int `json:"ready"`
	Failed int `json:"failed,omitempty"` // number of children that do not become ready without a change
	Total  int `json:"total"`            // number of existing children, and of children that the last pass could not create
}

// ChildList has the children of one object, or of all objects. The children of an object are in the order of the declarations of
// their kinds, then sorted by namespace and name. Children that do not exist come last.
type ChildList struct {
	Children []Child `json:"children"`
	Omitted  int     `json:"omitted,omitempty"` // number of children that the list lacks, because their object has more than [MaxChildren]
}

// MaxChildren is the maximum number of children of one object in a [ChildList]. If an object has more, the list omits ready
// children first.
const MaxChildren = 100

// Child is a child of an object with a reconcile handler.
type Child struct {
	// Parent identifies the parent. If the operator does not know the parent, Parent has only the resource and the UID, and the
	// child is an orphan.
	Parent Ref `json:"parent"`

	KindRef

	State   ChildState `json:"state,omitempty"`   // empty if the child does not exist
	Message string     `json:"message,omitempty"` // reason for the state, such as "1 of 3 replicas are ready"

	// Since is the time when the operator saw the last change of State, or when it pruned the child. It is zero for a state that is
	// older than the operator's process.
	Since time.Time `json:"since,omitzero"`

	Applied string      `json:"applied,omitempty"` // hash of the last applied object, such as "1:9f3c5a7b01d2e468"; empty if the operator owns no field
	Result  ChildResult `json:"result,omitempty"`  // result of the last pass for the child; empty if that pass did not apply the child
	Error   string      `json:"error,omitempty"`   // reason for [ResultRefused] or [ResultAwaited]; empty for other results

	// Drift has the applied fields that other clients have changed since the operator's process started: at most 10, the newest
	// last.
	Drift []FieldDrift `json:"drift,omitempty"`
}

// KindRef identifies an object, together with its kind.
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
	ChildFailed      ChildState = "failed"      // the child does not become ready without a change
	ChildTerminating ChildState = "terminating" // the child is being deleted
	ChildUnknown     ChildState = "unknown"     // the controller of the child has not written a status, and the kind has no rule
)

// ChildResult is the result of a pass for a child.
type ChildResult string

// The results of passes for children.
const (
	ResultCreated   ChildResult = "created"
	ResultChanged   ChildResult = "changed"   // the apply changed the child, or adopted an existing object
	ResultReverted  ChildResult = "reverted"  // the apply took back fields that other clients changed
	ResultYielded   ChildResult = "yielded"   // the operator left changed fields to other managers, and changed no other field
	ResultUnchanged ChildResult = "unchanged" // the child already has the applied fields
	ResultRefused   ChildResult = "refused"   // the API server refused the child, or the child belongs to another owner
	ResultAwaited   ChildResult = "awaited"   // the child cannot be applied yet, for example because it is being deleted, changes all the time, or the API server does not answer
	ResultPruned    ChildResult = "pruned"    // a pass in the last 10 minutes, or the last pass, deleted the child because it did not apply the child
)

// FieldDrift is an applied field that other clients have changed or removed.
type FieldDrift struct {
	Path    string       `json:"path"`              // path of the field, such as "spec.replicas"
	Manager string       `json:"manager,omitempty"` // field manager that changed the field; empty if the field was removed, or if the manager is unknown
	Scale   bool         `json:"scale,omitempty"`   // the manager changed the field through the subresource scale, as autoscalers do
	At      time.Time    `json:"at"`                // time when the operator last noticed the drift
	Outcome DriftOutcome `json:"outcome"`
	Count   int          `json:"count"` // number of drifts with this path, manager and outcome
}

// DriftOutcome is the operator's reaction to a [FieldDrift].
type DriftOutcome string

// The reactions to drift.
const (
	DriftReverted DriftOutcome = "reverted" // the operator took the field back
	DriftReported DriftOutcome = "reported" // the operator left the field to the manager, and logged a warning
	DriftYielded  DriftOutcome = "yielded"  // the operator left the field to the manager
)

// Pass is a finished call of an object's reconcile handler.
type Pass struct {
	Number  int         `json:"number"`  // number of the object's passes in this process, including this pass
	Version string      `json:"version"` // resourceVersion of the object in the pass
	Ended   time.Time   `json:"ended"`
	Took    Duration    `json:"took"` // duration of the handler and the pruning
	Outcome PassOutcome `json:"outcome"`
	Message string      `json:"message,omitempty"` // reason for the wait, or the error
	Until   time.Time   `json:"until,omitzero"`    // time of the next pass if nothing changes earlier; zero if only a change causes a pass
	Wakes   []Wake      `json:"wakes"`             // reasons for the pass, the oldest first; at most 16

	Applied   int `json:"applied"`             // number of applied children
	Unchanged int `json:"unchanged,omitempty"` // number of applied children that stayed the same
	Pruned    int `json:"pruned,omitempty"`
	Refused   int `json:"refused,omitempty"`

	// Undeclared are the resources of children from an earlier release that no handler declares now, such as
	// "ingresses.networking.k8s.io".
	Undeclared []string `json:"undeclared,omitempty"`

	// Unserved are the optional kinds whose children the pass has left out, because the cluster does not serve the kinds, such as
	// "monitoring.coreos.com/v1 servicemonitors".
	Unserved []string `json:"unserved,omitempty"`
}

// PassOutcome is the outcome of a [Pass].
type PassOutcome string

// The outcomes of passes.
const (
	PassComplete PassOutcome = "complete"
	PassWaiting  PassOutcome = "waiting"  // the handler waits; the next pass begins when a child changes
	PassRetrying PassOutcome = "retrying" // the handler failed, and is called again after a delay
	PassFailed   PassOutcome = "failed"   // the handler failed permanently
)

// Wake is a reason for a [Pass].
type Wake struct {
	Kind    WakeKind   `json:"kind"`
	Type    string     `json:"type,omitempty"`    // type of the watch event: "ADDED", "MODIFIED" or "DELETED"
	Object  *KindRef   `json:"object,omitempty"`  // changed child or watched object; nil for other reasons
	Changes []DiffItem `json:"changes,omitempty"` // changed fields of the child that decide about its readiness, or that the handler observes
}

// WakeKind is the kind of a [Wake].
type WakeKind string

// The kinds of reasons for a pass.
const (
	WakeObject  WakeKind = "object"  // the object is new, or its essence has changed
	WakeStart   WakeKind = "start"   // the operator has started, or a paced write is due
	WakeChild   WakeKind = "child"   // a child was created, changed or deleted by another client
	WakeVerify  WakeKind = "verify"  // another client has changed a child, apparently in no applied field
	WakeWatched WakeKind = "watched" // an object that is no child was created, changed or deleted
	WakeRecheck WakeKind = "recheck" // the time of a recheck, of a wait or of a readiness limit is over, or the cluster now serves a declared kind
	WakeRetry   WakeKind = "retry"   // the last pass failed
	WakeRequest WakeKind = "request" // a person requested the pass
)
