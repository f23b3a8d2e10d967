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
// The methods must be safe for concurrent use and return at once. Strings have few distinct values, so that they can
// be label values, except for [Attempt].Object. Later releases may add methods: embed [None] to have them.
type Meter interface {
	// Event counts a watch event. The kind is "listed", "added", "modified" or "deleted".
	Event(resource, kind string)

	// Cause counts a cause with due handlers, once for all their attempts.
	Cause(resource, reason string)

	// Attempt counts a call of a handler, or the end of its attempts without a call.
	Attempt(Attempt)

	// Request counts an attempt of a request to the API server. The code is 0 without a response.
	Request(verb string, code int, took time.Duration)

	// Restart counts a watch that is opened again.
	Restart(resource, reason string)

	// Login counts a call of all login handlers.
	Login(succeeded bool)

	// Begin adds an operator with its handlers. The state function returns the operator's current state
	// until the operator stops and calls the returned function. The counts remain.
	Begin(handlers []Handler, state func() State) (end func())

	// Endpoint returns the URL at which the operator serves the counts, with the handler. The URL is
	// empty if the operator does not serve them.
	Endpoint() (url string, h http.Handler)
}

// None implements [Meter] and counts nothing. A type that embeds None needs only the methods for its own counts,
// and implements [Meter] in later releases too.
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
	Called  bool // false if its limits were exceeded before
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
	Retried    Outcome = "retried"    // it failed and will be retried
	Waiting    Outcome = "waiting"    // it returned a kopf.TemporaryError and will be called again
	Failed     Outcome = "failed"     // it failed permanently
	Denied     Outcome = "denied"     // it denied a request with a kopf.AdmissionError
	Ignored    Outcome = "ignored"    // it failed, and the error is ignored
	Unfinished Outcome = "unfinished" // it waits for its sub-handlers
)

// State is the state of an operator at a moment.
type State struct {
	Objects  int // remembered objects
	Retrying int // handlers that wait for a retry, of all objects

	// Objects in the queue, being handled, and with a delay.
	Queued, Running, Sleeping int

	Daemons, Timers int
	Paused          bool

	Shards int // number of shards that the replica handles

	// How many leases of shards were acquired, released for other replicas, and lost: not renewed in time, or
	// taken away.
	ShardsAcquired, ShardsReleased, ShardsLost int

	Leads                    bool // the replica is the elected leader
	TimesElected, LeasesLost int  // counts of elections won, and of leases lost while it led

	// Kubernetes events that were posted, counted in an earlier one, rejected by the API server, and
	// dropped because there were too many.
	Posted, Repeated, Failed, Dropped int
}
