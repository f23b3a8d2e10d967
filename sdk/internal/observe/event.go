package observe

import (
	"log/slog"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Event describes an event in the engine. Events are plain values with references to the engine's own values;
// subscribers compute costly values, such as decisions, from the references. Subscribers must not change the
// referenced values.
type Event interface {
	Kind() Kind
}

// Kind identifies the type of an event.
type Kind uint8

// The kinds of events about objects, in the order in which they occur.
const (
	KindEventDispatched Kind = iota
	KindPlanned
	KindMarkBroken
	KindSlotAwaited
	KindAttemptStarted
	KindStepChanged
	KindAttemptEnded
	KindChildrenChanged
	KindPassEnded
	KindRecorded
	KindPatchPending
	KindSent
	KindEnded
	KindBackgroundStopped
	KindObjectIndexed
	KindObjectForgotten

	// The kinds of events about the operator.
	KindOperatorChanged
	KindShardsChanged
	KindPeersChanged
	KindClusterConnected
	KindClusterLost
	KindAlarmChanged
	KindResourcesServed
	KindTypesCompared
	KindStreamChanged
	KindCatchUpChanged
	KindEventReceived
	KindIndexChanged
	KindRequestEnded
	KindLoginEnded
	KindWebhooksChanged
	KindReviewEnded

	kindCount // is the number of kinds
)

// Identity identifies an object for as long as the operator remembers the object. The engine creates it together with its
// memory of the object. Subscribers use the pointer as the key of their state of the object until [ObjectForgotten]. If the
// object returns afterwards, it has a new identity.
type Identity struct {
	forgotten atomic.Bool // [ObjectForgotten] was emitted; subscribers must drop later events
}

// Subject is the object of an event, with the logger and the recorder for it. Attempts of activities have a subject
// with only a logger.
type Subject struct {
	Identity  *Identity // nil if the operator does not remember the object
	Resource  *resources.Resource
	Object    *object.Object // handled version of the object; nil in attempts of daemons and timers
	Reference ObjectReference
	Logger    *slog.Logger // logger for lines about the object; never nil
	Recorder  *Recorder    // recorder of Kubernetes events about the object; nil if the operator posts none

	// Secrets hide values of the object, of its last-handled state, and in texts about it; nil if there are none to hide.
	Secrets *redact.Secrets
}
