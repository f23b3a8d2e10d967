// Package intents carries out the requests of inspector clients, such as to retry a handler or to pause.
package intents

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/peers"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Intents carries out the intents of inspector clients.
type Intents struct {
	Deps     *core.Deps
	Memories *memory.Memories
	Streams  atomic.Pointer[serving.Streams] // nil until the operator is connected to the cluster
	Stop     func()                          // stops the operator
	Pauses   *peers.Pauses
	Peerings atomic.Pointer[peers.Peerings] // nil until the operator is connected to the cluster

	Admission atomic.Pointer[reviews.AdmissionControl] // nil until the operator is connected to the cluster
	Passes    atomic.Pointer[core.Passes]              // nil until the operator is connected to the cluster
}

// Children is [core.Passes].Children.
func (i *Intents) Children(parent inspect.Ref, inspector *observe.Inspector) inspect.ChildList {
	return i.passes().Children(parent, inspector)
}

// passes returns the passes of the operator; there are none before the connection to the cluster.
func (i *Intents) passes() core.Passes {
	if passes := i.Passes.Load(); passes != nil {
		return *passes
	}
	return core.NoPasses
}

// AdmissionControl returns the admission control of the operator, also before the connection to the cluster.
func (i *Intents) AdmissionControl() reviews.AdmissionControl {
	if admission := i.Admission.Load(); admission != nil {
		return *admission
	}
	return reviews.NoAdmission
}

// Handle carries out an intent, or rejects it with a reason.
func (i *Intents) Handle(ctx context.Context, in inspect.Intent) inspect.Reply {
	if reason := i.carryOut(ctx, in); reason != "" {
		return inspect.Reply{Error: reason}
	}
	return inspect.Reply{OK: true}
}

// carryOut carries out an intent. If it fails, it returns the reason.
func (i *Intents) carryOut(ctx context.Context, in inspect.Intent) (reason string) {
	switch in.Kind {
	case inspect.IntentStop:
		i.Stop()
	case inspect.IntentPause:
		i.pause()
	case inspect.IntentResume:
		return i.resume()
	case inspect.IntentFreeze, inspect.IntentRelease:
		return i.changePeers(ctx, in)
	case inspect.IntentRetry:
		switch {
		case i.Deps.State.Paused.Load():
			return "the operator is paused " + i.Pauses.Reason()
		case in.Object == nil:
			return "retry: which object?"
		}
		return i.retryNow(ctx, *in.Object, in.Handler)
	case inspect.IntentReplay:
		return i.AdmissionControl().Replay(in.Value)
	case inspect.IntentPauseObject:
		if in.Object == nil {
			return "pause: which object?"
		}
		return i.pauseObject(ctx, *in.Object, in.Value)
	case inspect.IntentStartOver:
		if in.Object == nil {
			return "start over: which object?"
		}
		return i.startOver(ctx, *in.Object)
	case inspect.IntentRetryFailed:
		return i.retryAll(in)
	case inspect.IntentUnbrake:
		i.passes().ReleaseBrake(in.Value)
	default:
		return "this operator does not know how to " + string(in.Kind)
	}
	return ""
}

// byRequest is the reason to pause that inspector clients add and remove.
var byRequest = peers.PauseKey{Kind: inspect.PauseRequest}

// pause pauses the handling of all objects until an inspector client resumes it.
func (i *Intents) pause() {
	if i.Pauses.Add(byRequest, inspect.Pause{Reason: "on request"}) {
		i.Deps.Logger.Info("Handling is paused.", observe.EventKey, observe.LogOperatorPaused)
	}
}

// resume ends a requested pause. If other reasons keep the operator paused, it returns them.
func (i *Intents) resume() (reason string) {
	removed, remaining := i.Pauses.Remove(byRequest)
	switch {
	case remaining != "":
		return "still paused " + remaining
	case removed:
		i.Deps.Logger.Info("Handling is resumed.", observe.EventKey, observe.LogOperatorResumed)
	}
	return ""
}

// changePeers freezes the operators of the peering, or releases a peer. If it fails, it returns the reason.
func (i *Intents) changePeers(ctx context.Context, in inspect.Intent) (reason string) {
	peerings := i.Peerings.Load()
	if peerings == nil {
		return "the operator is still starting"
	}
	ctx, cancel := context.WithTimeout(ctx, peers.PeeringLeave)
	defer cancel()
	if in.Kind == inspect.IntentFreeze {
		return peerings.Freeze(ctx, in.Value)
	}
	return peerings.ReleasePeer(ctx, in.Value)
}

// retryNow calls the delayed and the failed handlers of an object at once, or only one of them. If it fails, it returns
// the reason.
func (i *Intents) retryNow(ctx context.Context, ref inspect.Ref, handler string) (reason string) {
	streams := i.Streams.Load()
	if streams == nil {
		return "the operator is still starting"
	}
	res := streams.Served(ref.Resource)
	known := i.Memories.Find(queue.Key{Resource: ref.Resource, Object: ref.UID})
	if res == nil || known == nil {
		return ref.Name + " is unknown to the operator"
	}
	if handler != "" && !hasHandler(res, handler) {
		return fmt.Sprintf("there is no handler %q for %s", handler, ref.Name)
	}
	if known.Flags.Paused.Load() {
		return ref.Name + " is paused by its annotation " + state.PausedAnnotation
	}
	object, err := i.Deps.NewestVersion(ctx, res.Resource, ref.Namespace, ref.Name, ref.UID)
	switch {
	case err != nil:
		return err.Error()
	case object == nil:
		return ref.Name + " was deleted"
	}
	known.RetryNow(memory.NewRetryRequest(handler))
	i.Deps.Queue.Again(queue.Live, ref.Resource, watch.Event{Type: watch.Modified, Object: object})
	return ""
}

// pauseObject sets the annotation that pauses an object to the reason; an empty reason removes the annotation. If it
// fails, it returns the cause.
func (i *Intents) pauseObject(ctx context.Context, ref inspect.Ref, reason string) string {
	streams := i.Streams.Load()
	if streams == nil {
		return "the operator is still starting"
	}
	res := streams.Served(ref.Resource)
	if res == nil {
		return ref.Name + " is unknown to the operator"
	}
	var value any // null removes the annotation
	if reason != "" {
		value = reason
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": ref.UID, "annotations": map[string]any{state.PausedAnnotation: value},
	}})
	if err != nil {
		return err.Error()
	}
	_, err = i.Deps.Client.Patch(ctx, res.Resource, ref.Namespace, ref.Name, "", patch.MergeType, body)
	if kube.Classify(err) == kube.NotFound {
		return ref.Name + " was deleted"
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// startOverPatience is how long startOver waits for the running cycle of the object.
const startOverPatience = time.Second

// startOver resets an object between two cycles, so that a running cycle cannot overwrite the reset with its outcome. It
// waits up to startOverPatience for the result, and logs a failure that comes later. If it fails, it returns the reason.
func (i *Intents) startOver(ctx context.Context, ref inspect.Ref) (reason string) {
	streams := i.Streams.Load()
	if streams == nil {
		return "the operator is still starting"
	}
	done, late := make(chan string, 1), new(atomic.Bool)
	queued := i.Deps.Queue.Between(queue.Key{Resource: ref.Resource, Object: ref.UID}, func(ctx context.Context) {
		var reason string
		if err := core.WithRecovery(func() { reason = startOver(ctx, i.Deps, streams, i.Memories, ref) }); err != nil {
			reason = err.Error() // a custom storage panicked
		}
		if done <- reason; late.Load() && reason != "" {
			i.Deps.Logger.Error("Cannot handle "+ref.Name+" from scratch: "+reason, observe.EventKey, observe.LogStartOverFailed)
		}
	})
	if !queued {
		return "the operator is stopping"
	}
	select {
	case reason := <-done:
		return reason
	case <-ctx.Done():
		return "the operator is stopping"
	case <-time.After(startOverPatience):
		late.Store(true)
	}
	select {
	case reason := <-done: // at the same time as the timeout: the reason is logged or returned, or both
		return reason
	default:
		return ""
	}
}

// hasHandler reports whether the resource has a handler, or the parent of a sub-handler, with the id.
func hasHandler(res *core.ServedResource, id string) bool {
	is := func(h *handlers.Handler) bool { return h.ID == id || strings.HasPrefix(id, h.ID+"/") }
	return res.Handlers.Any(handlers.Changing, is) || res.Handlers.Any(handlers.Spawning, is) || res.Handlers.Any(handlers.Reconciling, is)
}

// retryAll calls the failed handlers of all objects again, or only one of them. If it fails, it returns the reason.
func (i *Intents) retryAll(in inspect.Intent) (reason string) {
	switch in.Value {
	case "":
	case inspect.RetryFormer:
		i.Deps.State.RetryFormer.Store(true) // set first, so that the cycles of objects that are listed later queue their retries
	default:
		return "this operator does not know how to retry " + in.Value
	}
	for key, known := range i.Memories.All() {
		if known.Flags.Failed.Load() != nil || known.Group.Load().HasFailed() {
			i.Deps.Retries.Add(key, in.Handler)
		}
	}
	for _, key := range i.passes().Failed() {
		i.Deps.Retries.Add(key, in.Handler)
	}
	return ""
}

// retryPatience limits the wait for the handlers of one object, before the next object is retried.
const retryPatience = time.Minute

// RetryFailed calls the failed handlers of an object again. It waits until change handlers and the reconcile handler were called, at
// most for retryPatience; it does not wait for daemons and timers. It does nothing if the object has no failures.
func (i *Intents) RetryFailed(ctx context.Context, key queue.Key, handler string) error {
	streams, known := i.Streams.Load(), i.Memories.Find(key)
	if streams == nil || known == nil {
		return nil
	}
	res, failed, object := streams.Served(key.Resource), known.Flags.Failed.Load(), i.passes().FailedObject(key)
	if res == nil || failed == nil && object == nil && !known.Group.Load().HasFailed() {
		return nil
	}
	request := memory.NewRetryRequest(handler)
	if failed == nil && object == nil {
		known.RetryNow(request)
		i.Deps.Queue.Again(queue.Live, key.Resource, watch.Event{Type: watch.Modified, Object: known.Group.Load().Live()})
		return nil
	}
	if failed != nil {
		newest, err := i.Deps.NewestVersion(ctx, res.Resource, failed.Namespace, failed.Name, key.Object)
		if err != nil || newest == nil {
			return err
		}
		object = newest
	}
	known.RetryNow(request)
	i.Deps.Queue.Again(queue.Live, key.Resource, watch.Event{Type: watch.Modified, Object: object})
	select {
	case <-request.Taken:
	case <-time.After(retryPatience):
	case <-ctx.Done():
	}
	return nil
}
