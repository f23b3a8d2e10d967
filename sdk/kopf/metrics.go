package kopf

import (
	"net/http"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// Metrics counts what an operator does. The module sdk/metrics implements it for Prometheus; implement
// it for another monitoring system, and set it as [ProcessSettings].Metrics.
//
// The methods must be safe for concurrent use and return at once. Texts come from small sets, so that
// they can be labels, except for [MetricsAttempt].Object. Later releases may add methods: embed
// [NoMetrics] to have them.
type Metrics interface {
	// Event counts a watch event. The kind is "listed", "added", "modified" or "deleted".
	Event(resource, kind string)

	// Cause counts a cause that handlers are called for, once for all their attempts.
	Cause(resource, reason string)

	// Attempt counts a call of a handler, or the end of its attempts without a call.
	Attempt(MetricsAttempt)

	// Request counts an attempt of a request to the API server. The code is 0 without a response.
	Request(verb string, code int, took time.Duration)

	// Restart counts a watch that is opened again.
	Restart(resource, reason string)

	// Login counts a call of all login handlers.
	Login(succeeded bool)

	// Begin adds an operator with its handlers. The state function returns the operator's current state
	// until the operator stops and calls the returned function. The counts remain.
	Begin(handlers []MetricsHandler, state func() MetricsState) (end func())

	// Endpoint returns the URL at which the operator serves the counts, with the handler. The URL is
	// empty if the operator does not serve them.
	Endpoint() (url string, h http.Handler)
}

// NoMetrics implements [Metrics] and counts nothing. Types that embed it only need the methods for what they
// count, and still implement [Metrics] when that has more methods.
type NoMetrics struct{}

var _ Metrics = NoMetrics{}

// Event implements [Metrics].
func (NoMetrics) Event(string, string) {}

// Cause implements [Metrics].
func (NoMetrics) Cause(string, string) {}

// Attempt implements [Metrics].
func (NoMetrics) Attempt(MetricsAttempt) {}

// Request implements [Metrics].
func (NoMetrics) Request(string, int, time.Duration) {}

// Restart implements [Metrics].
func (NoMetrics) Restart(string, string) {}

// Login implements [Metrics].
func (NoMetrics) Login(bool) {}

// Begin implements [Metrics].
func (NoMetrics) Begin([]MetricsHandler, func() MetricsState) (end func()) { return func() {} }

// Endpoint implements [Metrics]. The operator serves nothing.
func (NoMetrics) Endpoint() (url string, h http.Handler) { return "", nil }

// MetricsHandler identifies a handler in [Metrics].
type MetricsHandler struct {
	ID   string // for a sub-handler, that of its parent
	Kind string // "create", "field", "event", ...
}

// MetricsAttempt is an attempt of a handler.
type MetricsAttempt struct {
	Handler MetricsHandler
	Outcome AttemptOutcome
	Called  bool // false if its limits were exceeded before
	Took    time.Duration

	// Object is an example for the attempt. It is empty for activities, and must not be a label.
	Object MetricsObject
}

// MetricsObject identifies the object of a [MetricsAttempt].
type MetricsObject struct{ APIVersion, Kind, Name, UID, Namespace string }

// AttemptOutcome is the outcome of an attempt.
type AttemptOutcome string

// The outcomes of attempts.
const (
	AttemptSucceeded  AttemptOutcome = "succeeded"
	AttemptRetried    AttemptOutcome = "retried"    // it failed and will be retried
	AttemptWaiting    AttemptOutcome = "waiting"    // it returned a [TemporaryError] and will be called again
	AttemptFailed     AttemptOutcome = "failed"     // it failed permanently
	AttemptDenied     AttemptOutcome = "denied"     // it denied a request with an [AdmissionError]
	AttemptIgnored    AttemptOutcome = "ignored"    // it failed, and the error is ignored
	AttemptUnfinished AttemptOutcome = "unfinished" // it waits for its sub-handlers
)

// MetricsState is the state of an operator at a moment.
type MetricsState struct {
	Objects  int // that the operator remembers
	Retrying int // handlers that wait for a retry, of all objects

	// Objects in the queue, being handled, and with a delay.
	Queued, Running, Sleeping int

	Daemons, Timers int
	Paused          bool

	Shards int // whose objects the replica handles

	// How many leases of shards were acquired, released for other replicas, and lost: not renewed in time, or
	// taken away.
	ShardsAcquired, ShardsReleased, ShardsLost int

	Leads                    bool // in leader elections
	TimesElected, LeasesLost int  // how many times it began to lead, and lost the lease while it led

	// Kubernetes events that were posted, counted in an earlier one, rejected by the API server, and
	// dropped because there were too many.
	Posted, Repeated, Failed, Dropped int
}

// engineMetrics adapts [Metrics] to the engine.
type engineMetrics struct{ Metrics }

func meterOf(m Metrics) observe.Meter {
	if m == nil {
		return nil
	}
	return engineMetrics{m}
}

// Attempt implements [observe.Meter].
func (m engineMetrics) Attempt(a observe.MeteredAttempt) {
	m.Metrics.Attempt(MetricsAttempt{
		Handler: MetricsHandler(a.Handler), Outcome: AttemptOutcome(a.Outcome), Called: a.Called, Took: a.Took,
		Object: MetricsObject(a.Object),
	})
}

// Begin implements [observe.Meter].
func (m engineMetrics) Begin(handlers []observe.MeteredHandler, state func() observe.MeterState) (end func()) {
	metered := make([]MetricsHandler, len(handlers))
	for i, h := range handlers {
		metered[i] = MetricsHandler(h)
	}
	return m.Metrics.Begin(metered, func() MetricsState { return MetricsState(state()) })
}
