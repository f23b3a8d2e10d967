package engine

import (
	"context"
	"net/http"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
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
	deps     *core.Deps
	memories *memory.Memories
	unused   *observe.UnusedHandlers

	raised  map[inspect.AlarmKind]bool
	samples int     // number of samples in the current window
	window  usage   // lowest usage in the current window
	lowest  []usage // lowest usages of the last windows, oldest first
}

// run measures every minute until the context ends.
func (g *growth) run(ctx context.Context) {
	for ran := 1; core.Sleep(ctx, growthInterval) == nil; ran++ {
		g.add(measureUsage(g.memories))
		if ran == unusedAfter {
			g.unused.Report(g.deps.Logger, unusedAfter*growthInterval)
		}
	}
}

// add adds a sample. When a window is complete, it raises or ends alarms.
func (g *growth) add(u usage) {
	if g.samples++; g.samples == 1 {
		g.window = u
	}
	w := &g.window
	w.bytes, w.goroutines, w.objects = min(w.bytes, u.bytes), min(w.goroutines, u.goroutines), max(w.objects, u.objects)
	if g.samples < growthWindow {
		return
	}
	g.samples, g.lowest = 0, append(g.lowest, g.window)
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
	g.raised[kind] = grows
	observe.Emit(g.deps.Sink, observe.AlarmChanged{
		Logger: g.deps.Logger, Over: !grows,
		Alarm: inspect.Alarm{Kind: kind, Since: g.deps.Now(), Was: was, Is: is},
	})
}

func measureUsage(m *memory.Memories) usage {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/sched/goroutines:goroutines"}}
	metrics.Read(samples)
	return usage{int64(samples[0].Value.Uint64()), int64(samples[1].Value.Uint64()), len(m.All())}
}

// refusals tracks the requests that the API server refuses because permissions are missing. It is safe for concurrent use.
type refusals struct {
	deps *core.Deps
	open atomic.Int64 // number of current refusals; without any, successful requests need no lock

	mu     sync.Mutex
	alarms map[refusal]*inspect.Alarm // nil values for refusals that have ended
}

// refusal identifies a missing permission.
type refusal struct{ verb, resource, namespace string }

// dispensable are resources that the operator can work without. It logs the fallback elsewhere.
var dispensable = []string{
	"customresourcedefinitions", "namespaces", "clusterkopfpeerings", "kopfpeerings", "events",
	"validatingwebhookconfigurations", "mutatingwebhookconfigurations",
}

// observe raises an alarm for a refused request, and ends the alarm when the request succeeds.
func (r *refusals) observe(call kube.Call) {
	refused := call.Status == http.StatusForbidden && call.Resource != nil && observe.IsRefused(call)
	if !refused && (r.open.Load() == 0 || call.Status/100 != 2 || call.Resource == nil) {
		return
	}
	if slices.Contains(dispensable, call.Resource.Plural) {
		return
	}
	_, rest, _ := strings.Cut(call.Path, "/namespaces/")
	namespace, _, inside := strings.Cut(rest, "/")
	if !inside {
		namespace = "" // the request is about a namespace itself, or about the whole cluster
	}
	of := refusal{call.Verb, call.Resource.Key(), namespace}
	if call.Subresource != "" {
		of.resource += "/" + call.Subresource
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(of, refused, call.Err)
	if of.verb == "watch" && !refused {
		of.verb = "list"
		r.set(of, false, nil) // a stream that has begun needs no list, so that no list would end the alarm
	}
}

// set raises or ends the alarm about a request. The lock must be held.
func (r *refusals) set(of refusal, refused bool, err error) {
	alarm, again := r.alarms[of]
	if refused == (alarm != nil) {
		return
	}
	if refused {
		alarm = &inspect.Alarm{
			Kind: inspect.AlarmForbidden, Since: time.Now(), Verb: of.verb, Resource: of.resource, Namespace: of.namespace, Message: err.Error(),
		}
		r.open.Add(1)
		r.alarms[of] = alarm
	} else {
		r.open.Add(-1)
		r.alarms[of] = nil
	}
	observe.Emit(r.deps.Sink, observe.AlarmChanged{Logger: r.deps.Logger, Alarm: *alarm, Over: !refused, Again: again})
}
