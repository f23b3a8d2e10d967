package observe

import (
	"net/http"
	"time"
)

// Meter counts events of the engine; [Metrics] calls it. Its methods are called concurrently and must return at once. All
// strings except [MeteredAttempt].Object have few distinct values, so that they can be labels.
type Meter interface {
	// Event counts a watch event. The kind is "listed", "added", "modified" or "deleted".
	Event(resource, kind string)

	// Cause counts a cause with due handlers, once for all their attempts.
	Cause(resource, reason string)

	// Attempt counts a call of a handler, or the end of its attempts without a call.
	Attempt(MeteredAttempt)

	// Request counts an attempt of a request to the cluster. The code is 0 without a response.
	Request(verb string, code int, took time.Duration)

	// Restart counts the reopening of a watch stream.
	Restart(resource, reason string)

	// Login counts a call of all login handlers.
	Login(succeeded bool)

	// Pass counts a call of a reconcile handler for an object of a resource, with the oldest reason for it.
	Pass(resource, outcome, wake string)

	// Apply counts a child that a pass has applied, and Prune a deleted child that the pass did not apply. Both have the child's
	// resource.
	Apply(resource, result string)
	Prune(resource string)

	// Drift counts a field of a child that another client has changed, and that a pass has taken back.
	Drift(resource string)

	// Begin adds an operator with its handlers. The state function returns the operator's current state. When the operator
	// stops, it calls the returned function; state must not be called afterwards. The counts remain.
	Begin(handlers []MeteredHandler, state func() MeterState) (end func())

	// Endpoint returns the URL at which the operator serves the counts, with the handler. The URL
	// is empty if the operator does not serve them.
	Endpoint() (url string, h http.Handler)
}

// MeteredHandler identifies a handler.
type MeteredHandler struct {
	ID   string // id of the handler; a sub-handler has the id of its parent
	Kind string // kind of the handler, such as "create"
}

// MeteredAttempt is an attempt of a handler.
type MeteredAttempt struct {
	Handler MeteredHandler
	Outcome MeteredOutcome
	Called  bool // false if the handler was not called, because its limits were exceeded
	Took    time.Duration
	Object  ObjectReference // an example for the attempt; empty for activities; must not be a label
}

// MeteredOutcome is the outcome of an attempt.
type MeteredOutcome string

// The outcomes of attempts.
const (
	Succeeded  MeteredOutcome = "succeeded"
	Retried    MeteredOutcome = "retried"    // the handler failed and will be retried
	Waiting    MeteredOutcome = "waiting"    // the handler returned a temporary error and will be called again
	Failed     MeteredOutcome = "failed"     // the handler failed permanently
	Denied     MeteredOutcome = "denied"     // an admission handler denied the request
	Ignored    MeteredOutcome = "ignored"    // the handler failed, and the error is ignored
	Unfinished MeteredOutcome = "unfinished" // the handler waits for its sub-handlers
)

// MeterState is the state of an operator at one point in time.
type MeterState struct {
	Objects  int // number of objects that the operator remembers
	Retrying int // number of handlers of all objects that wait for a retry

	// Numbers of objects: waiting for a worker, being handled, and waiting for a delay.
	Queued, Running, Sleeping int

	CatchingUp int // number of listed objects that have yet to be handled, at the start or after an interruption

	Daemons, Timers int
	Paused          bool

	// Children are the numbers of existing children by their resource and state. The inner maps have all states.
	Children map[string]map[string]int

	Shards                                     int // number of shards that the replica handles
	ShardsAcquired, ShardsReleased, ShardsLost int // numbers of acquired, released and lost leases of shards

	Leads                    bool // this replica is the leader
	TimesElected, LeasesLost int  // number of won elections, and number of leases that the replica lost as the leader

	// Counts of Kubernetes events, as in [PosterStats].
	Posted, Repeated, Failed, Dropped int
}
