// Package metrics shows Prometheus what an operator does. Operators that do not import it
// neither count nor carry it:
//
//	kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
//		a.Settings.Process.Metrics = metrics.At("http://0.0.0.0:8080/metrics")
//		return nil
//	}, kopf.ID("metrics"))
//
// The labels are resources, handlers and words from short lists, never names of objects.
// See the chapter "Metrics" of the documentation for what there is.
package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// Metrics are the counts of an operator, or the sums of several that share them. They are
// safe for concurrent use, and an [http.Handler] that answers in the text format of
// Prometheus.
type Metrics struct {
	endpoint string

	events, causes, attempts, requests, restarts, logins counter

	durations, waits, latencies histogram

	mu    sync.Mutex
	looks map[*look]struct{}
	ended observe.MeterState // what is left of operators that have ended: the counts
}

type look struct{ at func() observe.MeterState }

// New returns metrics that the program serves by itself, as the handler that they are.
func New() *Metrics {
	m := &Metrics{
		events: counter{
			name: "kopf_events_total", labels: []string{"resource", "type"},
			help: "Events of objects that watches have delivered.",
		},
		causes: counter{
			name: "kopf_causes_total", labels: []string{"resource", "reason"},
			help: "What has happened to objects that handlers are called for.",
		},
		attempts: counter{
			name: "kopf_handler_attempts_total", labels: []string{"handler", "kind", "outcome"},
			help: "Calls of handlers by what they came to, and those that were given up without one.",
		},
		durations: histogram{
			name: "kopf_handler_duration_seconds", labels: []string{"handler", "kind"},
			help: "How long calls of handlers take.",
		},
		waits: histogram{
			name: "kopf_consistency_wait_seconds", labels: []string{"result"},
			help: "How long objects wait for the operator's own patches to come back.",
		},
		requests: counter{
			name: "kopf_api_requests_total", labels: []string{"verb", "code"},
			help: "Requests to the cluster, repetitions included. The code is \"error\" if there was no answer.",
		},
		latencies: histogram{
			name: "kopf_api_request_duration_seconds", labels: []string{"verb"},
			help: "How long requests to the cluster take, except watches.",
		},
		restarts: counter{
			name: "kopf_watch_restarts_total", labels: []string{"resource", "reason"},
			help: "Watches that were opened anew.",
		},
		logins: counter{
			name: "kopf_logins_total", labels: []string{"result"},
			help: "Rounds of login handlers.",
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

// noAnswer is the code of requests without an answer.
const noAnswer = "error"

// The results of waits and logins.
const (
	seen      = "seen"
	timedOut  = "timeout"
	succeeded = "succeeded"
	failed    = "failed"
)

// At returns metrics that the operator serves itself, while it runs, at a URL such as
// "http://0.0.0.0:8080/metrics". It may have the address of the liveness endpoint, with
// another path.
func At(endpoint string) *Metrics {
	m := New()
	m.endpoint = endpoint
	return m
}

// ServeHTTP answers with all metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(m.text()) // whoever has gone away does not care
}

// Event is called by the operator, as all that follows.
func (m *Metrics) Event(resource, kind string) { m.events.inc(resource, kind) }

// Cause is called by the operator.
func (m *Metrics) Cause(resource, reason string) { m.causes.inc(resource, reason) }

// Attempt is called by the operator.
func (m *Metrics) Attempt(a observe.MeteredAttempt) {
	m.attempts.inc(a.Handler.ID, a.Handler.Kind, string(a.Outcome))
	if a.Called {
		m.durations.observe(a.Took, a.Handler.ID, a.Handler.Kind)
	}
}

// Wait is called by the operator.
func (m *Metrics) Wait(ok bool, took time.Duration) {
	result := seen
	if !ok {
		result = timedOut
	}
	m.waits.observe(took, result)
}

// Request is called by the operator.
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

// Restart is called by the operator.
func (m *Metrics) Restart(resource, reason string) { m.restarts.inc(resource, reason) }

// Login is called by the operator.
func (m *Metrics) Login(ok bool) {
	result := succeeded
	if !ok {
		result = failed
	}
	m.logins.inc(result)
}

// Begin is called by the operator.
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

// Endpoint is called by the operator.
func (m *Metrics) Endpoint() (url string, h http.Handler) { return m.endpoint, m }

var _ observe.Meter = (*Metrics)(nil)

// state is what there is in all operators.
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
