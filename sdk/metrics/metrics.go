// Package metrics collects metrics of an operator with the Prometheus client library, next to the
// program's own metrics. It is a module of its own: operators that do not import it do not depend on
// the library.
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
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/kopf-dev/kopf/sdk/kopf/meter"
)

// Options are the options of [New]. The zero value is for a program that serves the metrics itself.
type Options struct {
	// Endpoint is the URL at which the operator serves the metrics while it runs, such as
	// "http://0.0.0.0:8080/metrics". The address may be that of the liveness endpoint, with another
	// path. Defaults to none: the program serves them, by using the Metrics as an [http.Handler], or
	// with a handler for its registry.
	Endpoint string

	// Registerer is where the metrics are registered. Defaults to a new registry, which also has the go_ and process_
	// metrics. The registry of the package prometheus, [prometheus.DefaultRegisterer], has them too; another registry
	// has only the metrics registered there.
	Registerer prometheus.Registerer

	// Gatherer provides the metrics that are served. Defaults to the Registerer, and must be set if
	// that is not a registry, such as the result of [prometheus.WrapRegistererWith].
	Gatherer prometheus.Gatherer
}

// Metrics are the metrics of an operator, or the sums of several operators that share them. They are
// an [http.Handler] that serves everything in the registry: as OpenMetrics with exemplars, or in the
// other formats of Prometheus, as the client prefers. They are safe for concurrent use. The methods other
// than ServeHTTP are for the operator.
type Metrics struct {
	*collector
	endpoint string
	handler  http.Handler
}

var _ meter.Meter = (*Metrics)(nil)

// New returns metrics and registers them. Metrics with one registerer share their values. It panics if
// other metrics of the registry have the same names, or if there is no gatherer.
func New(o Options) *Metrics {
	if o.Registerer == nil {
		if o.Gatherer != nil {
			panic("metrics: Options.Gatherer needs the Registerer whose metrics it gathers")
		}
		o.Registerer = prometheus.NewRegistry()
		o.Registerer.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	if o.Gatherer == nil {
		gatherer, ok := o.Registerer.(prometheus.Gatherer)
		if !ok {
			panic("metrics: Options.Gatherer must be set if the Registerer is not a registry")
		}
		o.Gatherer = gatherer
	}
	return &Metrics{
		collector: register(o.Registerer),
		endpoint:  o.Endpoint,
		handler:   promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true}),
	}
}

// At returns metrics in a registry of their own, which the operator serves while it runs. It is
// [New] with an endpoint.
func At(endpoint string) *Metrics { return New(Options{Endpoint: endpoint}) }

// register registers a new collector, or returns the one that is registered already.
func register(registerer prometheus.Registerer) *collector {
	c := newCollector()
	err := registerer.Register(c)
	if already := (prometheus.AlreadyRegisteredError{}); errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(*collector); ok {
			return existing
		}
	}
	if err != nil {
		panic(err)
	}
	return c
}

// ServeHTTP responds with all metrics of the registry.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.handler.ServeHTTP(w, r) }

// Endpoint returns the URL at which the operator serves the metrics; empty if the program does.
func (m *Metrics) Endpoint() (url string, h http.Handler) { return m.endpoint, m }
