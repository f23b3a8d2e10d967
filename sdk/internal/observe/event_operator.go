package observe

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// OperatorChanged tells what the operator as a whole does from now on.
type OperatorChanged struct {
	State  inspect.OperatorState
	Reason string          // why it is paused
	Pauses []inspect.Pause // the same in detail, the oldest first; must not be changed
}

// ShardsChanged tells which shards the operator handles from now on.
type ShardsChanged struct {
	Division shards.Division
	Own      []int // in ascending order; must not be changed
}

// PeersChanged tells what is known of the operators in a peering object.
type PeersChanged struct {
	Peering inspect.Peering
	Left    bool // the operator does not take part anymore
}

// ClusterConnected tells the address of the cluster, and again after each login.
type ClusterConnected struct {
	Server string
}

// ClusterLost tells that the cluster does not answer. The next [RequestEnded] with an answer is the
// end of that.
type ClusterLost struct {
	Reason string
}

// ResourcesServed tells which resources are served from now on, and which selectors have none.
type ResourcesServed struct {
	Resolution *resources.Resolution
	Reviewed   *resources.Resolution // of the selectors of admission handlers; nil if there are none
}

// TypesCompared tells which fields of the Go types of handlers the schema of a resource does not have.
type TypesCompared struct {
	Resource string // its key
	Drift    []inspect.Drift
}

// StreamChanged tells about the life of a watch-stream.
type StreamChanged struct {
	Stream  resources.Scope
	Phase   StreamPhase
	Restart watch.Restart // with StreamRestarted

	// Blocking means that all handlers wait for the stream, because its objects must be indexed.
	Blocking bool
}

// StreamPhase is where a watch-stream stands.
type StreamPhase int

// The phases of a watch-stream.
const (
	StreamStarted   StreamPhase = iota // its first list begins
	StreamListed                       // all its objects are known
	StreamRestarted                    // it was interrupted
	StreamStopped                      // the operator does not need it anymore
)

// EventReceived tells about an event of a watch-stream, before it is queued.
type EventReceived struct {
	Stream resources.Scope
	Event  watch.Event
}

// IndexChanged tells that indices may have other contents now.
type IndexChanged struct {
	IDs []string
}

// RequestEnded tells about each attempt of a request to the cluster.
type RequestEnded struct {
	Call kube.Call
}

// LoginEnded tells the outcome of all login handlers together.
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
func (EventReceived) Kind() Kind { return KindEventReceived }

// Kind implements [Event].
func (IndexChanged) Kind() Kind { return KindIndexChanged }

// Kind implements [Event].
func (RequestEnded) Kind() Kind { return KindRequestEnded }

// Kind implements [Event].
func (LoginEnded) Kind() Kind { return KindLoginEnded }
