// Package metrics collects metrics of an operator for Prometheus. Operators that do not import it
// do not link it:
//
//	kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
//		a.Settings.Process.Metrics = metrics.At("http://0.0.0.0:8080/metrics")
//		return nil
//	}, kopf.ID("metrics"))
//
// Labels are resources, handlers and words from short lists, never names of objects. See the
// [list of metrics].
//
// [list of metrics]: https://github.com/kopf-dev/kopf/blob/main/docs/metrics.md
package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// Metrics are the metrics of an operator, or the sums of several operators that share them. They are
// an [http.Handler] that responds in the text format of Prometheus. They are safe for concurrent
// use. The methods other than ServeHTTP are for the operator.
type Metrics struct {
	endpoint string

	events, causes, attempts, requests, restarts, logins counter

	durations, waits, latencies histogram

	mu    sync.Mutex
	looks map[*look]struct{}
	ended observe.MeterState // what is left of operators that have ended: the counts
}

type look struct{ at func() observe.MeterState }

// New returns metrics that the program serves itself, by using them as an [http.Handler].
func New() *Metrics {
	m := &Metrics{
		events: counter{
			name: "kopf_events_total", labels: []string{"resource", "type"},
			help: "Watch events of objects.",
		},
		causes: counter{
			name: "kopf_causes_total", labels: []string{"resource", "reason"},
			help: "Causes for which handlers are called.",
		},
		attempts: counter{
			name: "kopf_handler_attempts_total", labels: []string{"handler", "kind", "outcome"},
			help: "Attempts of handlers by their outcome, including handlers that failed without a call.",
		},
		durations: histogram{
			name: "kopf_handler_duration_seconds", labels: []string{"handler", "kind"},
			help: "Duration of the calls of handlers.",
		},
		waits: histogram{
			name: "kopf_consistency_wait_seconds", labels: []string{"result"},
			help: "Time that objects wait to see the operator's own patches.",
		},
		requests: counter{
			name: "kopf_api_requests_total", labels: []string{"verb", "code"},
			help: "Requests to the API server, including repeated ones. The code is \"error\" without a response.",
		},
		latencies: histogram{
			name: "kopf_api_request_duration_seconds", labels: []string{"verb"},
			help: "Duration of requests to the API server, except watches.",
		},
		restarts: counter{
			name: "kopf_watch_restarts_total", labels: []string{"resource", "reason"},
			help: "Watches that were opened again.",
		},
		logins: counter{
			name: "kopf_logins_total", labels: []string{"result"},
			help: "Logins.",
		},
		looks: map[*look]struct{}{},
	}
	// What is not there yet has no rate when it comes: what can be known beforehand begins at 0.
	for _, result := range []string{seen, timedOut} {
		m.waits.values.of([]string{result})
	}
	for _, result := range []string{succeeded, failed} {
		m.logins.values.of([]string{result})
	}
	return m
}

// noAnswer is the code of requests without a response.
const noAnswer = "error"

// The results of waits and logins.
const (
	seen      = "seen"
	timedOut  = "timeout"
	succeeded = "succeeded"
	failed    = "failed"
)

// At returns metrics that the operator serves while it runs, at a URL such as
// "http://0.0.0.0:8080/metrics". The address may be that of the liveness endpoint, with another
// path.
func At(endpoint string) *Metrics {
	m := New()
	m.endpoint = endpoint
	return m
}

// ServeHTTP responds with all metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(m.text()) // an error means that the client is gone
}

// Event counts a watch event.
func (m *Metrics) Event(resource, kind string) { m.events.inc(resource, kind) }

// Cause counts a cause.
func (m *Metrics) Cause(resource, reason string) { m.causes.inc(resource, reason) }

// Attempt counts an attempt of a handler.
func (m *Metrics) Attempt(a observe.MeteredAttempt) {
	m.attempts.inc(a.Handler.ID, a.Handler.Kind, string(a.Outcome))
	if a.Called {
		m.durations.observe(a.Took, a.Handler.ID, a.Handler.Kind)
	}
}

// Wait counts a consistency wait.
func (m *Metrics) Wait(ok bool, took time.Duration) {
	result := seen
	if !ok {
		result = timedOut
	}
	m.waits.observe(took, result)
}

// Request counts a request to the API server. The code is 0 without a response.
func (m *Metrics) Request(verb string, code int, took time.Duration) {
	text := noAnswer
	if code != 0 {
		text = strconv.Itoa(code)
	}
	m.requests.inc(verb, text)
	if verb != "watch" {
		m.latencies.observe(took, verb)
	}
}

// Restart counts a watch that was opened again.
func (m *Metrics) Restart(resource, reason string) { m.restarts.inc(resource, reason) }

// Login counts a login.
func (m *Metrics) Login(ok bool) {
	result := succeeded
	if !ok {
		result = failed
	}
	m.logins.inc(result)
}

// Begin adds an operator, whose state at returns, until end is called.
func (m *Metrics) Begin(handlers []observe.MeteredHandler, at func() observe.MeterState) (end func()) {
	for _, h := range handlers {
		for _, outcome := range observe.MeteredOutcomes {
			m.attempts.values.of([]string{h.ID, h.Kind, string(outcome)})
		}
	}
	l := &look{at}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks[l] = struct{}{}
	return func() {
		last := at()
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.looks, l)
		m.ended = add(m.ended, observe.MeterState{
			Posted: last.Posted, Repeated: last.Repeated, Failed: last.Failed, Dropped: last.Dropped,
		})
	}
}

// Endpoint returns the URL at which the operator serves the metrics; empty if the program does.
func (m *Metrics) Endpoint() (url string, h http.Handler) { return m.endpoint, m }

var _ observe.Meter = (*Metrics)(nil)

// state returns the sums of the states of all operators.
func (m *Metrics) state() observe.MeterState {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.ended
	for l := range m.looks {
		sum = add(sum, l.at())
	}
	return sum
}

func add(a, b observe.MeterState) observe.MeterState {
	return observe.MeterState{
		Objects: a.Objects + b.Objects, Retrying: a.Retrying + b.Retrying,
		Queued: a.Queued + b.Queued, Running: a.Running + b.Running, Sleeping: a.Sleeping + b.Sleeping,
		Daemons: a.Daemons + b.Daemons, Timers: a.Timers + b.Timers,
		Paused: a.Paused || b.Paused,
		Posted: a.Posted + b.Posted, Repeated: a.Repeated + b.Repeated,
		Failed: a.Failed + b.Failed, Dropped: a.Dropped + b.Dropped,
	}
}
