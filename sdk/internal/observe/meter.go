package observe

import (
	"net/http"
	"time"
)

// Meter counts what happens, for kopf.Metrics. Its methods are called from many goroutines and must return at once. Texts
// are of small sets, so that they can be labels, except [MeteredAttempt].Object.
type Meter interface {
	// Event counts a watch event. The kind is "listed", "added", "modified" or "deleted".
	Event(resource, kind string)

	// Cause counts a cause that handlers are called for, once for all their attempts.
	Cause(resource, reason string)

	// Attempt counts a call of a handler, or the end of its attempts without a call.
	Attempt(MeteredAttempt)

	// Request counts an attempt of a request to the cluster. The code is 0 without a response.
	Request(verb string, code int, took time.Duration)

	// Restart counts a stream that is reopened.
	Restart(resource, reason string)

	// Login counts a call of all login handlers.
	Login(succeeded bool)

	// Begin adds an operator with its handlers. The state function returns the operator's current
	// state until the operator stops and calls the returned function. The counts remain.
	Begin(handlers []MeteredHandler, state func() MeterState) (end func())

	// Endpoint returns the URL at which the operator serves the counts, with the handler. The URL
	// is empty if the operator does not serve them.
	Endpoint() (url string, h http.Handler)
}

// MeteredHandler identifies a handler.
type MeteredHandler struct {
	ID   string // handler id; the parent's id for sub-handlers
	Kind string // the family
}

// MeteredAttempt is an attempt of a handler.
type MeteredAttempt struct {
	Handler MeteredHandler
	Outcome MeteredOutcome
	Called  bool // false if its limits were exceeded before
	Took    time.Duration
	Object  ObjectReference // an example for the attempt; empty for activities; must not be a label
}

// MeteredOutcome is the outcome of an attempt.
type MeteredOutcome string

// The outcomes of attempts.
const (
	Succeeded  MeteredOutcome = "succeeded"
	Retried    MeteredOutcome = "retried"    // it failed and will be retried
	Waiting    MeteredOutcome = "waiting"    // it waits for something, and will be called again
	Failed     MeteredOutcome = "failed"     // it failed permanently
	Denied     MeteredOutcome = "denied"     // an admission handler denied the request
	Ignored    MeteredOutcome = "ignored"    // it failed, and the error is ignored
	Unfinished MeteredOutcome = "unfinished" // it waits for its sub-handlers
)

// MeterState is the state of an operator at a moment.
type MeterState struct {
	Objects  int // number of objects that the operator remembers
	Retrying int // handlers that wait for a retry, of all objects

	// Objects in the queue, with a running worker, and with a delay.
	Queued, Running, Sleeping int

	Daemons, Timers int
	Paused          bool

	Shards                                     int // number of shards that the replica handles
	ShardsAcquired, ShardsReleased, ShardsLost int // counts of their leases

	Leads                    bool // this replica was elected
	TimesElected, LeasesLost int  // counts

	// Counts of Kubernetes events, as in [PosterStats].
	Posted, Repeated, Failed, Dropped int
}
