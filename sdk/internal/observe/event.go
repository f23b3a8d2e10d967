package observe

import (
	"log/slog"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Event is something that happened in the engine. Events are plain values that refer to what the
// engine has at hand; subscribers compute what is costly, such as decisions, from these references.
// Subscribers must not change what an event refers to.
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
	KindAttemptStarted
	KindAttemptEnded
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
	KindEventReceived
	KindIndexChanged
	KindRequestEnded
	KindLoginEnded
	KindWebhooksChanged
	KindReviewEnded

	kindCount // is the number of kinds
)

// Identity identifies an object for as long as the operator remembers it: the engine makes one
// together with its memory of the object. Subscribers keep what they know of the object under the
// pointer until [ObjectForgotten]. If the object returns afterwards, it has another identity.
type Identity struct {
	forgotten atomic.Bool // [ObjectForgotten] was told: late events must not be kept
}

// Subject is the object that an event is about, and where to tell people about it. Attempts of
// activities have a subject with nothing but a logger.
type Subject struct {
	Identity  *Identity // nil if the operator does not remember the object
	Resource  *resources.Resource
	Object    *object.Object // the version that is handled; nil in attempts of daemons and timers
	Reference ObjectReference
	Logger    *slog.Logger // for log lines about the object; never nil
	Recorder  *Recorder    // for Kubernetes events about the object; nil if none are posted

	// Secrets hide values of the object, of its last-handled state, and of texts about it; nil if it has none.
	Secrets *redact.Secrets
}
