package engine

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// pods is the resource of pods.
var pods = resources.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Namespaced: true}

// bareDeps returns the dependencies of an operator without a cluster.
func bareDeps(t testing.TB, registry *handlers.Registry, logger *slog.Logger) *deps {
	t.Helper()
	sink := &observe.Sink{}
	sink.Subscribe(observe.NewLogLines(t.Context(), logger, false))
	return &deps{
		registry: registry, settings: &Settings{DefaultBackoff: time.Minute}, now: time.Now, logger: logger,
		newMemo: func() any { return new([3]uintptr) }, indices: newIndices(registry), state: &runState{},
		background: t.Context(), sink: sink, recorders: observe.NewRecorders(time.Now),
	}
}

// pod returns an event of a pod.
func pod(kind, name, version string) watch.Event {
	return watch.Event{Type: kind, Object: object.Stub("v1", "Pod", "default", name, "uid-"+name, version)}
}

// byVersion indexes the names of objects by their versions.
func byVersion(_ context.Context, call *handlers.Call) (any, error) {
	o := call.Cause.Object
	return map[string]string{o.ResourceVersion: o.Name}, nil
}

// later is a temporary error.
type later struct{ Delay time.Duration }

// Error implements error.
func (later) Error() string { return "later" }

// KopfDelay implements [handlers.Temporary].
func (e later) KopfDelay() (time.Duration, bool) { return e.Delay, true }

var _ handlers.Temporary = later{}
