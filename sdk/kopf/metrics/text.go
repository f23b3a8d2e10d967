package metrics

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// text returns all metrics in the text format of Prometheus, always in the same order.
func (m *Metrics) text() []byte {
	var w writer
	s := m.state()
	w.counter(&m.events)
	w.counter(&m.causes)
	w.counter(&m.attempts)
	w.histogram(&m.durations)
	w.gauge("kopf_retries_pending", "Handlers that wait for a retry.", s.Retrying)
	w.gauge("kopf_objects", "Objects that the operator knows.", s.Objects)
	w.split("kopf_queue_objects", "gauge", "Objects in the queue: waiting for a worker, being handled, or waiting for a time.",
		"state", []part{{"queued", s.Queued}, {"running", s.Running}, {"sleeping", s.Sleeping}})
	w.gauge("kopf_daemons", "Daemons, including those that wait for their initial delay or for a retry.", s.Daemons)
	w.gauge("kopf_timers", "Timers.", s.Timers)
	paused := 0
	if s.Paused {
		paused = 1
	}
	w.gauge("kopf_paused", "1 if the operator is paused.", paused)
	w.histogram(&m.waits)
	w.counter(&m.requests)
	w.histogram(&m.latencies)
	w.counter(&m.restarts)
	w.counter(&m.logins)
	w.split("kopf_posted_events_total", "counter", "Kubernetes events by their result.",
		"result", []part{{"posted", s.Posted}, {"repeated", s.Repeated}, {"failed", s.Failed}, {"dropped", s.Dropped}})
	return w.Bytes()
}

// writer writes the text format. Its methods cannot fail.
type writer struct{ bytes.Buffer }

// part is a value with a label of its own.
type part struct {
	label string
	value int
}

func (w *writer) head(name, help, kind string) {
	w.WriteString("# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n")
}

func (w *writer) gauge(name, help string, value int) {
	w.head(name, help, "gauge")
	w.sample(name, nil, nil, float64(value))
}

func (w *writer) split(name, kind, help, label string, parts []part) {
	w.head(name, help, kind)
	for _, p := range parts {
		w.sample(name, []string{label}, []string{p.label}, float64(p.value))
	}
}

func (w *writer) counter(c *counter) {
	w.head(c.name, c.help, "counter")
	for values, value := range c.values.all() {
		w.sample(c.name, c.labels, values, float64(value.Load()))
	}
}

func (w *writer) histogram(h *histogram) {
	w.head(h.name, h.help, "histogram")
	labels := append(slices.Clone(h.labels), "le")
	for values, b := range h.values.all() {
		counts, sum := b.read()
		total := uint64(0)
		for i, count := range counts {
			total += count
			le := "+Inf"
			if i < len(bounds) {
				le = number(bounds[i])
			}
			w.sample(h.name+"_bucket", labels, append(slices.Clone(values), le), float64(total))
		}
		w.sample(h.name+"_sum", h.labels, values, sum)
		w.sample(h.name+"_count", h.labels, values, float64(total))
	}
}

var escaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// sample writes one line.
func (w *writer) sample(name string, labels, values []string, value float64) {
	w.WriteString(name)
	for i, label := range labels {
		if i == 0 {
			w.WriteByte('{')
		} else {
			w.WriteByte(',')
		}
		w.WriteString(label + `="` + escaper.Replace(values[i]) + `"`)
	}
	if len(labels) > 0 {
		w.WriteByte('}')
	}
	w.WriteString(" " + number(value) + "\n")
}

func number(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }
