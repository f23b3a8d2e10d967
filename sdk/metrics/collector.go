package metrics

import (
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kopf-dev/kopf/sdk/kopf/meter"
)

// bounds are the upper bounds of the buckets in seconds: from calls that do nothing to calls that wait
// for other systems.
var bounds = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600}

// noAnswer is the code of requests without a response.
const noAnswer = "error"

// The results of logins.
const (
	succeeded = "succeeded"
	failed    = "failed"
)

// outcomes are all outcomes of attempts.
var outcomes = []meter.Outcome{
	meter.Succeeded, meter.Retried, meter.Waiting, meter.Failed, meter.Denied, meter.Ignored,
	meter.Unfinished,
}

// collector counts the reports of operators. A collection reads the states of the operators.
type collector struct {
	events, causes, attempts, requests, restarts, logins *prometheus.CounterVec
	passes, applies, prunes, drifts                      *prometheus.CounterVec

	durations, latencies *prometheus.HistogramVec

	mu     sync.Mutex
	states map[*state]struct{}
	ended  meter.State // the counts of operators that have ended
}

// state is the state of an operator.
type state struct{ read func() meter.State }

func newCollector() *collector {
	c := &collector{
		events:    counter("kopf_events_total", "Watch events of objects.", "resource", "type"),
		causes:    counter("kopf_causes_total", "Causes for which handlers are called.", "resource", "reason"),
		attempts:  counter("kopf_handler_attempts_total", "Attempts of handlers by their outcome, including handlers that failed without a call.", "handler", "kind", "outcome"),
		durations: histogram("kopf_handler_duration_seconds", "Duration of the calls of handlers.", "handler", "kind"),
		requests:  counter("kopf_api_requests_total", "Requests to the API server, including repeated ones. The code is \"error\" without a response.", "verb", "code"),
		latencies: histogram("kopf_api_request_duration_seconds", "Duration of requests to the API server, except watches.", "verb"),
		restarts:  counter("kopf_watch_restarts_total", "Watches that were opened again.", "resource", "reason"),
		logins:    counter("kopf_logins_total", "Logins.", "result"),
		passes:    counter("kopf_passes_total", "Passes of reconcile handlers by their outcome and their oldest reason.", "resource", "outcome", "wake"),
		applies:   counter("kopf_applies_total", "Children that passes applied, by their result.", "resource", "result"),
		prunes:    counter("kopf_prunes_total", "Children that passes deleted because they did not apply them.", "resource"),
		drifts:    counter("kopf_drift_total", "Fields of children that passes took back from others.", "resource"),
		states:    map[*state]struct{}{},
	}
	// A series that appears with its first event has no rate for it, so those known beforehand begin at 0.
	for _, result := range []string{succeeded, failed} {
		c.logins.WithLabelValues(result)
	}
	return c
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
}

// The metrics of the states of operators.
var (
	retriesPending = prometheus.NewDesc("kopf_retries_pending", "Handlers that wait for a retry.", nil, nil)
	objects        = prometheus.NewDesc("kopf_objects", "Objects that the operator knows.", nil, nil)
	queueObjects   = prometheus.NewDesc("kopf_queue_objects", "Objects in the queue: waiting for a worker, being handled, or waiting for a time.", []string{"state"}, nil)
	catchingUp     = prometheus.NewDesc("kopf_catching_up_objects", "Listed objects that have yet to be handled.", nil, nil)
	daemons        = prometheus.NewDesc("kopf_daemons", "Daemons, including those that wait for their initial delay or for a retry.", nil, nil)
	timers         = prometheus.NewDesc("kopf_timers", "Timers.", nil, nil)
	childObjects   = prometheus.NewDesc("kopf_children", "Children of objects with reconcile handlers.", []string{"resource", "state"}, nil)
	paused         = prometheus.NewDesc("kopf_paused", "1 if the operator is paused.", nil, nil)
	shards         = prometheus.NewDesc("kopf_shards", "Shards whose objects the replica handles.", nil, nil)
	shardLeases    = prometheus.NewDesc("kopf_shard_leases_total", "Leases of shards that the replica acquired, released for others, or lost.", []string{"result"}, nil)
	leader         = prometheus.NewDesc("kopf_leader", "1 if the replica leads, by leader election.", nil, nil)
	leaderLeases   = prometheus.NewDesc("kopf_leader_leases_total", "How many times the replica was elected, and lost the lease.", []string{"result"}, nil)
	postedEvents   = prometheus.NewDesc("kopf_posted_events_total", "Kubernetes events by their result.", []string{"result"}, nil)
)

func (c *collector) vectors() []prometheus.Collector {
	return []prometheus.Collector{c.events, c.causes, c.attempts, c.durations, c.requests, c.latencies, c.restarts, c.logins, c.passes, c.applies, c.prunes, c.drifts}
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range c.vectors() {
		v.Describe(ch)
	}
	for _, desc := range []*prometheus.Desc{retriesPending, objects, queueObjects, catchingUp, daemons, timers, childObjects, paused, shards, shardLeases, leader, leaderLeases, postedEvents} {
		ch <- desc
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	for _, v := range c.vectors() {
		v.Collect(ch)
	}
	send := func(kind prometheus.ValueType, desc *prometheus.Desc, value int, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, kind, float64(value), labels...)
	}
	s := c.state()
	send(prometheus.GaugeValue, retriesPending, s.Retrying)
	send(prometheus.GaugeValue, objects, s.Objects)
	send(prometheus.GaugeValue, queueObjects, s.Queued, "queued")
	send(prometheus.GaugeValue, queueObjects, s.Running, "running")
	send(prometheus.GaugeValue, queueObjects, s.Sleeping, "sleeping")
	send(prometheus.GaugeValue, catchingUp, s.CatchingUp)
	send(prometheus.GaugeValue, daemons, s.Daemons)
	send(prometheus.GaugeValue, timers, s.Timers)
	for resource, states := range s.Children {
		for state, n := range states {
			send(prometheus.GaugeValue, childObjects, n, resource, state)
		}
	}
	send(prometheus.GaugeValue, paused, number(s.Paused))
	send(prometheus.GaugeValue, shards, s.Shards)
	send(prometheus.CounterValue, shardLeases, s.ShardsAcquired, "acquired")
	send(prometheus.CounterValue, shardLeases, s.ShardsReleased, "released")
	send(prometheus.CounterValue, shardLeases, s.ShardsLost, "lost")
	send(prometheus.GaugeValue, leader, number(s.Leads))
	send(prometheus.CounterValue, leaderLeases, s.TimesElected, "elected")
	send(prometheus.CounterValue, leaderLeases, s.LeasesLost, "lost")
	send(prometheus.CounterValue, postedEvents, s.Posted, "posted")
	send(prometheus.CounterValue, postedEvents, s.Repeated, "repeated")
	send(prometheus.CounterValue, postedEvents, s.Failed, "failed")
	send(prometheus.CounterValue, postedEvents, s.Dropped, "dropped")
}

// number returns the value of a metric that is 1 if something holds.
func number(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

// Event counts a watch event.
func (c *collector) Event(resource, kind string) { c.events.WithLabelValues(resource, kind).Inc() }

// Cause counts a cause.
func (c *collector) Cause(resource, reason string) { c.causes.WithLabelValues(resource, reason).Inc() }

// Attempt counts an attempt of a handler. The object is the exemplar of the duration, and of the outcome
// unless that is the usual one.
func (c *collector) Attempt(a meter.Attempt) {
	id, object := valid(a.Handler.ID), exemplar(a.Object)
	attempts := c.attempts.WithLabelValues(id, a.Handler.Kind, string(a.Outcome))
	if a.Outcome == meter.Succeeded {
		attempts.Inc()
	} else {
		attempts.(prometheus.ExemplarAdder).AddWithExemplar(1, object)
	}
	if a.Called {
		durations := c.durations.WithLabelValues(id, a.Handler.Kind)
		durations.(prometheus.ExemplarObserver).ObserveWithExemplar(a.Took.Seconds(), object)
	}
}

// valid returns a handler's id as a label. Unlike other texts, it may be anything.
func valid(id string) string { return strings.ToValidUTF8(id, string(utf8.RuneError)) }

// exemplar returns what identifies an object; nil for an activity.
func exemplar(object meter.Object) prometheus.Labels {
	if object.UID == "" {
		return nil
	}
	const names = len("uid") + len("namespace") + len("name")
	if names+len(object.UID)+len(object.Namespace)+len(object.Name) > prometheus.ExemplarMaxRunes {
		return prometheus.Labels{"uid": object.UID} // longer ones are not allowed
	}
	labels := prometheus.Labels{"uid": object.UID, "name": object.Name}
	if object.Namespace != "" {
		labels["namespace"] = object.Namespace
	}
	return labels
}

// Request counts a request to the API server. The code is 0 without a response.
func (c *collector) Request(verb string, code int, took time.Duration) {
	text := noAnswer
	if code != 0 {
		text = strconv.Itoa(code)
	}
	c.requests.WithLabelValues(verb, text).Inc()
	if verb != "watch" {
		c.latencies.WithLabelValues(verb).Observe(took.Seconds())
	}
}

// Restart counts a watch that was opened again.
func (c *collector) Restart(resource, reason string) {
	c.restarts.WithLabelValues(resource, reason).Inc()
}

// Login counts a login.
func (c *collector) Login(ok bool) {
	result := succeeded
	if !ok {
		result = failed
	}
	c.logins.WithLabelValues(result).Inc()
}

// Pass counts a pass of a reconcile handler.
func (c *collector) Pass(resource, outcome, wake string) {
	c.passes.WithLabelValues(resource, outcome, wake).Inc()
}

// Apply counts a child that a pass has applied.
func (c *collector) Apply(resource, result string) {
	c.applies.WithLabelValues(resource, result).Inc()
}

// Prune counts a child that a pass has deleted because it did not apply it.
func (c *collector) Prune(resource string) { c.prunes.WithLabelValues(resource).Inc() }

// Drift counts a field of a child that a pass has taken back.
func (c *collector) Drift(resource string) { c.drifts.WithLabelValues(resource).Inc() }

// Begin adds an operator, whose state the function returns, until end is called.
func (c *collector) Begin(handlers []meter.Handler, read func() meter.State) (end func()) {
	for _, h := range handlers {
		for _, outcome := range outcomes {
			c.attempts.WithLabelValues(valid(h.ID), h.Kind, string(outcome))
		}
	}
	s := &state{read}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states[s] = struct{}{}
	return func() {
		last := read()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.states, s)
		c.ended = add(c.ended, meter.State{
			ShardsAcquired: last.ShardsAcquired, ShardsReleased: last.ShardsReleased, ShardsLost: last.ShardsLost,
			TimesElected: last.TimesElected, LeasesLost: last.LeasesLost,
			Posted: last.Posted, Repeated: last.Repeated, Failed: last.Failed, Dropped: last.Dropped,
		})
	}
}

// state returns the sums of the states of all operators.
func (c *collector) state() meter.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := c.ended
	for s := range c.states {
		sum = add(sum, s.read())
	}
	return sum
}

func add(a, b meter.State) meter.State {
	return meter.State{
		Objects: a.Objects + b.Objects, Retrying: a.Retrying + b.Retrying,
		Queued: a.Queued + b.Queued, Running: a.Running + b.Running, Sleeping: a.Sleeping + b.Sleeping, CatchingUp: a.CatchingUp + b.CatchingUp,
		Daemons: a.Daemons + b.Daemons, Timers: a.Timers + b.Timers,
		Paused: a.Paused || b.Paused, Children: addChildren(a.Children, b.Children),
		Shards: a.Shards + b.Shards, ShardsAcquired: a.ShardsAcquired + b.ShardsAcquired,
		ShardsReleased: a.ShardsReleased + b.ShardsReleased, ShardsLost: a.ShardsLost + b.ShardsLost,
		Leads: a.Leads || b.Leads, TimesElected: a.TimesElected + b.TimesElected, LeasesLost: a.LeasesLost + b.LeasesLost,
		Posted: a.Posted + b.Posted, Repeated: a.Repeated + b.Repeated,
		Failed: a.Failed + b.Failed, Dropped: a.Dropped + b.Dropped,
	}
}

// addChildren returns the sums of two numbers of children, by their resource and state.
func addChildren(a, b map[string]map[string]int) map[string]map[string]int {
	sum := map[string]map[string]int{}
	for _, each := range []map[string]map[string]int{a, b} {
		for resource, states := range each {
			if sum[resource] == nil {
				sum[resource] = map[string]int{}
			}
			for state, n := range states {
				sum[resource][state] += n
			}
		}
	}
	return sum
}
