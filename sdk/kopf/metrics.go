package kopf

import (
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/kopf/meter"
)

// engineMetrics adapts a [meter.Meter] to the engine.
type engineMetrics struct{ meter.Meter }

func meterOf(m meter.Meter) observe.Meter {
	if m == nil {
		return nil
	}
	return engineMetrics{m}
}

// Attempt implements [observe.Meter].
func (m engineMetrics) Attempt(a observe.MeteredAttempt) {
	m.Meter.Attempt(meter.Attempt{
		Handler: meter.Handler(a.Handler), Outcome: meter.Outcome(a.Outcome), Called: a.Called, Took: a.Took,
		Object: meter.Object(a.Object),
	})
}

// Begin implements [observe.Meter].
func (m engineMetrics) Begin(handlers []observe.MeteredHandler, state func() observe.MeterState) (end func()) {
	metered := make([]meter.Handler, len(handlers))
	for i, h := range handlers {
		metered[i] = meter.Handler(h)
	}
	return m.Meter.Begin(metered, func() meter.State { return meter.State(state()) })
}
