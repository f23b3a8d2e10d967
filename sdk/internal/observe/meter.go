package observe

import (
	"net/http"
	"time"
)

// A Meter is told what happens. Its methods are called from many goroutines, and must
// return at once. All texts come from a small set, so that they can be labels: never names
// of objects.
type Meter interface {
	// Event is an event of a watch: "listed", "added", "modified" or "deleted".
	Event(resource, kind string)

	// Cause is something that has happened to an object, and that handlers are called for:
	// once, however many attempts it takes.
	Cause(resource, reason string)

	// Attempt is a call of a handler, or the end of its attempts without one.
	Attempt(MeteredAttempt)

	// Wait is a wait for the operator's own patch to come back; seen is false if it did not
	// in time.
	Wait(seen bool, took time.Duration)

	// Request is an attempt of a request to the cluster. The code is 0 without an answer.
	Request(verb string, code int, took time.Duration)

	// Restart is a stream that is opened anew.
	Restart(resource, reason string)

	// Login is a call of the login handlers.
	Login(succeeded bool)

	// Begin tells which handlers an operator has that begins, and gives a look at what there
	// is at the moment. The returned function is called when it ends: the counts of what it
	// has done remain.
	Begin(handlers []MeteredHandler, look func() MeterState) (end func())

	// Endpoint is where the operator is to serve the counts, and how. An empty URL is
	// nowhere: somebody else serves them.
	Endpoint() (url string, h http.Handler)
}

// Handler is who is called.
type MeteredHandler struct {
	ID   string // that of its parent for sub-handlers
	Kind string // the family
}

// Attempt is a call of a handler.
type MeteredAttempt struct {
	Handler MeteredHandler
	Outcome MeteredOutcome
	Called  bool // else its limits were exceeded before
	Took    time.Duration
}

// Outcome is what an attempt came to.
type MeteredOutcome string

// Outcomes are all that there are.
var MeteredOutcomes = []MeteredOutcome{Succeeded, Retried, Failed, Ignored, Unfinished}

// The outcomes.
const (
	Succeeded  MeteredOutcome = "succeeded"
	Retried    MeteredOutcome = "retried"    // it failed, and is to be tried again
	Failed     MeteredOutcome = "failed"     // for good
	Ignored    MeteredOutcome = "ignored"    // it failed, and is regarded as a success
	Unfinished MeteredOutcome = "unfinished" // sub-handlers are to be called again
)

// State is what there is at a moment.
type MeterState struct {
	Objects  int // that are known
	Retrying int // handlers of objects that are to be tried again

	// Objects by what their queues are at.
	Queued, Running, Sleeping int

	Daemons, Timers int
	Paused          bool

	// Kubernetes events since the start.
	Posted, Repeated, Failed, Dropped int
}
