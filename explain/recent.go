package explain

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Recent are the attempts of a handler in the last minutes, for a sparkline.
type Recent struct {
	Runs []float64 // number of attempts in each step, the oldest step first
	Took []float64 // average durations of the attempts in each step, in seconds

	PerMinute int           // number of attempts in the busiest step
	Slowest   time.Duration // average duration in the slowest step
	Span      time.Duration // duration of all steps
}

// RecentRuns returns the attempts of a handler in the last minutes before a time. It reports whether there were any.
func RecentRuns(h *inspect.Handler, now time.Time) (r Recent, some bool) {
	if h.Recent == nil || h.Recent.Step <= 0 || len(h.Recent.Runs) != len(h.Recent.Took) {
		return r, false
	}
	step, steps := time.Duration(h.Recent.Step), len(h.Recent.Runs)
	r.Span = step * time.Duration(steps)
	r.Runs, r.Took = make([]float64, steps), make([]float64, steps)
	// The published steps end with the last attempt; the later steps had no attempts.
	passed := int(max(0, now.Sub(h.Recent.Until)+step-1) / step)
	for i := range steps - min(passed, steps) {
		r.Runs[i] = float64(h.Recent.Runs[i+passed])
		r.Took[i] = time.Duration(h.Recent.Took[i+passed]).Seconds()
	}
	most := slices.Max(r.Runs)
	r.PerMinute = int(most * float64(time.Minute) / float64(step))
	r.Slowest = time.Duration(slices.Max(r.Took) * float64(time.Second))
	return r, most > 0
}
