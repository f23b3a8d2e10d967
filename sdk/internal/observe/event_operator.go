package observe

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// OperatorChanged reports the new state of the operator as a whole.
type OperatorChanged struct {
	State  inspect.OperatorState
	Reason string          // reason of a pause
	Pauses []inspect.Pause // all reasons of the pause, oldest first; must not be changed
}

// ShardsChanged reports the shards that the operator handles now.
type ShardsChanged struct {
	Division shards.Division
	Own      []int // shards of this replica, in ascending order; must not be changed
}

// PeersChanged reports the operators in a peering object.
type PeersChanged struct {
	Peering inspect.Peering
	Left    bool // the operator has left the peering
}

// ClusterConnected reports the address of the cluster. It is emitted again after each login.
type ClusterConnected struct {
	Server string
}

// ClusterLost reports that the cluster does not respond. The next [RequestEnded] with a response ends this state.
type ClusterLost struct {
	Reason string
}

// ResourcesServed reports the served resources, and the selectors without a resource.
type ResourcesServed struct {
	Resolution *resources.Resolution
	Reviewed   *resources.Resolution // resources of the admission handlers; nil without such handlers
}

// TypesCompared reports the fields of the handlers' Go types that the schema of a resource lacks.
type TypesCompared struct {
	Resource string // key of the resource
	Drift    []inspect.Drift
}

// StreamChanged reports a change of a watch stream's state.
type StreamChanged struct {
	Stream  resources.Scope
	Phase   StreamPhase
	Restart watch.Restart // reason of the restart, with StreamRestarted

	// Blocking means that all handlers wait for the stream, because its objects must be indexed.
	Blocking bool
}

// CatchUpChanged reports the progress of handling the objects of listings. It is zero when all are handled.
type CatchUpChanged struct {
	Handled, Objects int
}

// StreamPhase is the phase of a watch stream.
type StreamPhase int

// The phases of a watch stream.
const (
	StreamStarted   StreamPhase = iota // the first list of the stream starts
	StreamListed                       // all objects of the stream are known
	StreamRestarted                    // the stream was interrupted
	StreamStopped                      // the operator closed the stream
)

// EventReceived reports an event of a watch stream, before it is queued.
type EventReceived struct {
	Stream resources.Scope
	Event  watch.Event
}

// IndexChanged reports that indices may have changed.
type IndexChanged struct {
	IDs []string
}

// RequestEnded reports an attempt of a request to the cluster.
type RequestEnded struct {
	Call kube.Call
}

// LoginEnded reports the outcome of a login, after all login handlers were called.
type LoginEnded struct {
	Err error // nil if there are credentials
}

// Kind implements [Event].
func (OperatorChanged) Kind() Kind { return KindOperatorChanged }

// Kind implements [Event].
func (ShardsChanged) Kind() Kind { return KindShardsChanged }

// Kind implements [Event].
func (PeersChanged) Kind() Kind { return KindPeersChanged }

// Kind implements [Event].
func (ClusterConnected) Kind() Kind { return KindClusterConnected }

// Kind implements [Event].
func (ClusterLost) Kind() Kind { return KindClusterLost }

// Kind implements [Event].
func (ResourcesServed) Kind() Kind { return KindResourcesServed }

// Kind implements [Event].
func (TypesCompared) Kind() Kind { return KindTypesCompared }

// Kind implements [Event].
func (StreamChanged) Kind() Kind { return KindStreamChanged }

// Kind implements [Event].
func (CatchUpChanged) Kind() Kind { return KindCatchUpChanged }

// Kind implements [Event].
func (EventReceived) Kind() Kind { return KindEventReceived }

// Kind implements [Event].
func (IndexChanged) Kind() Kind { return KindIndexChanged }

// Kind implements [Event].
func (RequestEnded) Kind() Kind { return KindRequestEnded }

// Kind implements [Event].
func (LoginEnded) Kind() Kind { return KindLoginEnded }
