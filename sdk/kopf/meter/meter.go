// Package meter has the interface by which an operator reports counts to a monitoring system. The module sdk/metrics
// implements it for Prometheus.
package meter

import (
	"net/http"
	"time"
)

// Meter counts the events, causes, attempts and requests of an operator. The module sdk/metrics implements it for
// Prometheus; implement it for another monitoring system, and set it as Settings.Process.Metrics.
//
// The methods must be safe for concurrent use and return at once. All strings except [Attempt].Object have few distinct
// values, so that they can be label values. Later releases may add methods: embed [None] to implement them.
type Meter interface {
	// Event counts a watch event. The kind is "listed", "added", "modified" or "deleted".
	Event(resource, kind string)

	// Cause counts a cause with due handlers, once for all their attempts.
	Cause(resource, reason string)

	// Attempt counts a call of a handler, or the end of its attempts without a call.
	Attempt(Attempt)

	// Request counts an attempt of a request to the API server. The code is 0 without a response.
	Request(verb string, code int, took time.Duration)

	// Restart counts the reopening of a watch stream.
	Restart(resource, reason string)

	// Login counts a login, in which all login handlers are called.
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
	Begin(handlers []Handler, state func() State) (end func())

	// Endpoint returns the URL at which the operator serves the counts, with the handler. The URL is
	// empty if the operator does not serve them.
	Endpoint() (url string, h http.Handler)
}

// None implements [Meter] and counts nothing. A type that embeds None only needs the methods for its own counts, and also
// implements [Meter] of later releases.
type None struct{}

var _ Meter = None{}

// Event implements [Meter].
func (None) Event(string, string) {}

// Cause implements [Meter].
func (None) Cause(string, string) {}

// Attempt implements [Meter].
func (None) Attempt(Attempt) {}

// Request implements [Meter].
func (None) Request(string, int, time.Duration) {}

// Restart implements [Meter].
func (None) Restart(string, string) {}

// Login implements [Meter].
func (None) Login(bool) {}

// Pass implements [Meter].
func (None) Pass(string, string, string) {}

// Apply implements [Meter].
func (None) Apply(string, string) {}

// Prune implements [Meter].
func (None) Prune(string) {}

// Drift implements [Meter].
func (None) Drift(string) {}

// Begin implements [Meter].
func (None) Begin([]Handler, func() State) (end func()) { return func() {} }

// Endpoint implements [Meter]. The operator serves nothing.
func (None) Endpoint() (url string, h http.Handler) { return "", nil }

// Handler identifies a handler in [Meter].
type Handler struct {
	ID   string // id of the handler; a sub-handler has the id of its parent
	Kind string // "create", "field", "event", ...
}

// Attempt is an attempt of a handler.
type Attempt struct {
	Handler Handler
	Outcome Outcome
	Called  bool // false if the handler was not called, because its limits were exceeded
	Took    time.Duration

	// Object is an example for the attempt. It is empty for activities, and must not be a label.
	Object Object
}

// Object identifies the object of an [Attempt].
type Object struct{ APIVersion, Kind, Name, UID, Namespace string }

// Outcome is the outcome of an attempt.
type Outcome string

// The outcomes of attempts.
const (
	Succeeded  Outcome = "succeeded"
	Retried    Outcome = "retried"    // the handler failed and will be retried
	Waiting    Outcome = "waiting"    // the handler returned a kopf.TemporaryError and will be called again
	Failed     Outcome = "failed"     // the handler failed permanently
	Denied     Outcome = "denied"     // the handler denied a request with a kopf.AdmissionError
	Ignored    Outcome = "ignored"    // the handler failed, and the error is ignored
	Unfinished Outcome = "unfinished" // the handler waits for its sub-handlers
)

// State is the state of an operator at one point in time.
type State struct {
	Objects  int // number of remembered objects
	Retrying int // number of handlers of all objects that wait for a retry

	// Numbers of objects: waiting for a worker, being handled, and waiting for a delay.
	Queued, Running, Sleeping int

	CatchingUp int // number of listed objects that have yet to be handled, at the start or after an interruption

	Daemons, Timers int
	Paused          bool

	// Children are the numbers of existing children by their resource and state. The inner maps have all states.
	Children map[string]map[string]int

	Shards int // number of shards that the replica handles

	// Numbers of shard leases: acquired, released for other replicas, and lost. A lease is lost if the replica does not
	// renew it in time, or another replica takes it over.
	ShardsAcquired, ShardsReleased, ShardsLost int

	Leads                    bool // the replica is the elected leader
	TimesElected, LeasesLost int  // number of won elections, and number of leases that the replica lost as the leader

	// Numbers of Kubernetes events: posted, added to the count of a posted event, rejected by the API server, and dropped
	// because of too many events.
	Posted, Repeated, Failed, Dropped int
}
