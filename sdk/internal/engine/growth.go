package engine

import (
	"context"
	"runtime/metrics"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

const (
	growthInterval = time.Minute
	growthWindow   = 10 // number of samples per window; only the lowest counts, because peaks are normal
	growthWindows  = 6  // number of consecutive windows that must rise, which is an hour
	growthFactor   = 1.5
	leastBytes     = 32 << 20
	leastRoutines  = 200

	unusedAfter = 10 // number of measurements after which unused handlers are reported
)

// usage is the resource usage of the process at one time.
type usage struct {
	bytes, goroutines int64
	objects           int // number of remembered objects
}

// growth detects that the process grows continuously while the number of objects does not.
type growth struct {
	window  []usage // samples of the current window
	lowest  []usage // lowest usages of the last windows, oldest first
	raised  map[inspect.AlarmKind]bool
	deps    *core.Deps
	measure func() usage

	unused *observe.UnusedHandlers
	ran    int // number of measurements
}

// run measures every minute until the context ends.
func (g *growth) run(ctx context.Context) {
	for core.Sleep(ctx, growthInterval) == nil {
		g.add(g.measure())
		if g.ran++; g.ran == unusedAfter {
			g.unused.Report(g.deps.Logger, unusedAfter*growthInterval)
		}
	}
}

// add adds a sample. When a window is complete, it raises or ends alarms.
func (g *growth) add(u usage) {
	if g.window = append(g.window, u); len(g.window) < growthWindow {
		return
	}
	lowest := g.window[0]
	for _, u := range g.window {
		lowest.bytes, lowest.goroutines = min(lowest.bytes, u.bytes), min(lowest.goroutines, u.goroutines)
		lowest.objects = max(lowest.objects, u.objects)
	}
	g.window = g.window[:0]
	g.lowest = append(g.lowest, lowest)
	g.lowest = g.lowest[max(0, len(g.lowest)-growthWindows):]
	g.judge(inspect.AlarmMemory, leastBytes, func(u usage) int64 { return u.bytes })
	g.judge(inspect.AlarmGoroutines, leastRoutines, func(u usage) int64 { return u.goroutines })
}

// judge emits an alarm when a quantity starts or stops growing.
func (g *growth) judge(kind inspect.AlarmKind, least int64, of func(usage) int64) {
	first, last := g.lowest[0], g.lowest[len(g.lowest)-1]
	was, is := of(first), of(last)
	grows := len(g.lowest) == growthWindows && is-was >= least && float64(is) >= growthFactor*float64(was) &&
		float64(last.objects) <= growthFactor*float64(first.objects)+100
	for i := 1; i < len(g.lowest); i++ {
		grows = grows && of(g.lowest[i]) > of(g.lowest[i-1])
	}
	if grows == g.raised[kind] {
		return
	}
	if g.raised == nil {
		g.raised = map[inspect.AlarmKind]bool{}
	}
	g.raised[kind] = grows
	observe.Emit(g.deps.Sink, observe.AlarmChanged{
		Logger: g.deps.Logger, Over: !grows,
		Alarm: inspect.Alarm{Kind: kind, Since: g.deps.Now(), Was: was, Is: is},
	})
}

func measureUsage(m *memory.Memories) usage {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(samples)
	return usage{
		bytes: int64(samples[0].Value.Uint64()), goroutines: int64(samples[1].Value.Uint64()), objects: len(m.All()),
	}
}
