// Package enginetest has test helpers for the packages of the engine.
package enginetest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Pods is the resource of pods.
var Pods = resources.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Namespaced: true}

// BareDeps returns the dependencies of an operator without a cluster.
func BareDeps(t testing.TB, registry *handlers.Registry, logger *slog.Logger) *core.Deps {
	t.Helper()
	sink := &observe.Sink{}
	sink.Subscribe(observe.NewLogLines(t.Context(), logger, false))
	return &core.Deps{
		Registry: registry, Settings: &core.Settings{DefaultBackoff: time.Minute}, Now: time.Now, Logger: logger,
		NewMemo: func() any { return new([3]uintptr) }, Indices: core.NewIndices(registry), State: &core.RunState{},
		Background: t.Context(), Sink: sink, Recorders: observe.NewRecorders(time.Now), Forget: func(queue.Key) {},
	}
}

// Pod returns an event of a pod.
func Pod(kind, name, version string) watch.Event {
	return watch.Event{Type: kind, Object: object.Stub("v1", "Pod", "default", name, "uid-"+name, version)}
}

// ByVersion indexes the names of objects by their versions.
func ByVersion(_ context.Context, call *handlers.Call) (any, error) {
	o := call.Cause.Object
	return map[string]string{o.ResourceVersion: o.Name}, nil
}

var _ handlers.Temporary = Later{}

// Later is a temporary error.
type Later struct{ Delay time.Duration }

// Error implements error.
func (Later) Error() string { return "later" }

// KopfDelay implements [handlers.Temporary].
func (e Later) KopfDelay() (time.Duration, bool) { return e.Delay, true }
