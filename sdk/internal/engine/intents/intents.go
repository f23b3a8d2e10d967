// Package intents carries out the requests of inspector clients, such as to retry a handler or to pause.
package intents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/peers"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

const (
	retryPatience     = time.Minute // limits the wait for the handlers of one object, before the next object is retried
	startOverPatience = time.Second // limits the wait for the running cycle of an object, before it starts over
)

// Intents carries out the intents of inspector clients, and reads the cluster for them.
type Intents struct {
	Deps     *core.Deps
	Memories *memory.Memories
	Pauses   *peers.Pauses
	Stop     func() // stops the operator
	Parts    atomic.Pointer[Parts]
}

// Parts are the parts of an operator that exist once it is connected to the cluster.
type Parts struct {
	Streams   *serving.Streams // nil before the connection, as the peerings are
	Peerings  *peers.Peerings
	Admission reviews.AdmissionControl
	Passes    core.Passes
}

// New returns the intents of an operator that is not connected to the cluster yet.
func New(d *core.Deps, m *memory.Memories, p *peers.Pauses) *Intents {
	i := &Intents{Deps: d, Memories: m, Pauses: p}
	i.Parts.Store(&Parts{Admission: reviews.NoAdmission, Passes: core.NoPasses})
	return i
}

var errStarting = errors.New("the operator is still starting")

// Handle carries out an intent, or rejects it with a reason.
func (i *Intents) Handle(ctx context.Context, in inspect.Intent) inspect.Reply {
	if err := i.carryOut(ctx, in); err != nil {
		return inspect.Reply{Error: err.Error()}
	}
	return inspect.Reply{OK: true}
}

func (i *Intents) carryOut(ctx context.Context, in inspect.Intent) error {
	switch in.Kind {
	case inspect.IntentStop:
		i.Stop()
	case inspect.IntentPause:
		if i.Pauses.Add(peers.PauseKey{Kind: inspect.PauseRequest}, inspect.Pause{Reason: "on request"}) {
			i.Deps.Logger.Info("Handling is paused.", observe.EventKey, observe.LogOperatorPaused)
		}
	case inspect.IntentResume:
		return i.resume()
	case inspect.IntentFreeze, inspect.IntentRelease:
		return i.changePeers(ctx, in)
	case inspect.IntentRetry, inspect.IntentPauseObject, inspect.IntentStartOver:
		return i.actOn(ctx, in.Object, in)
	case inspect.IntentReplay:
		return i.Parts.Load().Admission.Replay(in.Value)
	case inspect.IntentRetryFailed:
		return i.retryAll(in)
	case inspect.IntentUnbrake:
		i.Parts.Load().Passes.ReleaseBrake(in.Value)
	default:
		return errors.New("this operator does not know how to " + string(in.Kind))
	}
	return nil
}

// resume ends a requested pause. It fails if other reasons keep the operator paused.
func (i *Intents) resume() error {
	removed, remaining := i.Pauses.Remove(peers.PauseKey{Kind: inspect.PauseRequest})
	if remaining != "" {
		return errors.New("still paused " + remaining)
	}
	if removed {
		i.Deps.Logger.Info("Handling is resumed.", observe.EventKey, observe.LogOperatorResumed)
	}
	return nil
}

// changePeers freezes the operators of the peering, or releases a peer.
func (i *Intents) changePeers(ctx context.Context, in inspect.Intent) error {
	peerings := i.Parts.Load().Peerings
	if peerings == nil {
		return errStarting
	}
	ctx, cancel := context.WithTimeout(ctx, peers.PeeringLeave)
	defer cancel()
	if in.Kind == inspect.IntentFreeze {
		return peerings.Freeze(ctx, in.Value)
	}
	return peerings.ReleasePeer(ctx, in.Value)
}

// actOn carries out an intent about an object.
func (i *Intents) actOn(ctx context.Context, ref *inspect.Ref, in inspect.Intent) error {
	streams := i.Parts.Load().Streams
	switch {
	case in.Kind == inspect.IntentRetry && i.Deps.State.Paused.Load():
		return errors.New("the operator is paused " + i.Pauses.Reason())
	case ref == nil:
		return errors.New(string(in.Kind) + ": which object?")
	case streams == nil:
		return errStarting
	}
	res := streams.Served(ref.Resource)
	switch {
	case res == nil:
		return unknown(ref)
	case in.Kind == inspect.IntentRetry:
		return i.retryNow(ctx, res, ref, in.Handler)
	case in.Kind == inspect.IntentPauseObject:
		return i.pauseObject(ctx, res, ref, in.Value)
	}
	return i.startOver(ctx, res, ref)
}

func unknown(ref *inspect.Ref) error { return errors.New(ref.Name + " is unknown to the operator") }
func deleted(ref *inspect.Ref) error { return errors.New(ref.Name + " was deleted") }

// newest returns the newest version of an object, which must exist.
func (i *Intents) newest(ctx context.Context, res *core.ServedResource, ref *inspect.Ref) (*object.Object, error) {
	obj, err := i.Deps.NewestVersion(ctx, res.Resource, ref.Namespace, ref.Name, ref.UID)
	if err == nil && obj == nil {
		err = deleted(ref)
	}
	return obj, err
}

// requeue makes the operator handle a version of an object.
func (i *Intents) requeue(resource string, version *object.Object) {
	i.Deps.Queue.Again(queue.Live, resource, watch.Event{Type: watch.Modified, Object: version})
}

// retryNow calls the delayed and the failed handlers of an object at once, or only one of them.
func (i *Intents) retryNow(ctx context.Context, res *core.ServedResource, ref *inspect.Ref, handler string) error {
	known := i.Memories.Find(queue.Key{Resource: ref.Resource, Object: ref.UID})
	switch {
	case known == nil:
		return unknown(ref)
	case handler != "" && !hasHandler(res, handler):
		return fmt.Errorf("there is no handler %q for %s", handler, ref.Name)
	case known.Flags.Paused.Load():
		return errors.New(ref.Name + " is paused by its annotation " + state.PausedAnnotation)
	}
	obj, err := i.newest(ctx, res, ref)
	if err == nil {
		known.RetryNow(memory.NewRetryRequest(handler))
		i.requeue(ref.Resource, obj)
	}
	return err
}

// hasHandler reports whether the resource has a handler, or the parent of a sub-handler, with the id.
func hasHandler(res *core.ServedResource, id string) bool {
	is := func(h *handlers.Handler) bool { return h.ID == id || strings.HasPrefix(id, h.ID+"/") }
	return res.Handlers.Any(handlers.Changing, is) || res.Handlers.Any(handlers.Spawning, is) || res.Handlers.Any(handlers.Reconciling, is)
}

// pauseObject sets the annotation that pauses an object to the reason; an empty reason removes the annotation.
func (i *Intents) pauseObject(ctx context.Context, res *core.ServedResource, ref *inspect.Ref, reason string) error {
	var value any // null removes the annotation
	if reason != "" {
		value = reason
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": ref.UID, "annotations": map[string]any{state.PausedAnnotation: value},
	}})
	if err == nil {
		_, err = i.Deps.Client.Patch(ctx, res.Resource, ref.Namespace, ref.Name, "", patch.MergeType, body)
	}
	if kube.Classify(err) == kube.NotFound {
		return deleted(ref)
	}
	return err
}

// retryAll calls the failed handlers of all objects again, or only one of them.
func (i *Intents) retryAll(in inspect.Intent) error {
	switch in.Value {
	case "":
	case inspect.RetryFormer:
		i.Deps.State.RetryFormer.Store(true) // set first, so that the cycles of objects that are listed later queue their retries
	default:
		return errors.New("this operator does not know how to retry " + in.Value)
	}
	var failed []queue.Key
	for key, known := range i.Memories.All() {
		if known.Flags.Failed.Load() != nil || known.Group.Load().HasFailed() {
			failed = append(failed, key)
		}
	}
	for _, key := range append(failed, i.Parts.Load().Passes.Failed()...) {
		i.Deps.Retries.Add(key, in.Handler)
	}
	return nil
}

// RetryFailed calls the failed handlers of an object again. It waits until change handlers and the reconcile handler were called, at
// most for retryPatience; it does not wait for daemons and timers. It does nothing if the object has no failures.
func (i *Intents) RetryFailed(ctx context.Context, key queue.Key, handler string) error {
	known, parts := i.Memories.Find(key), i.Parts.Load()
	if known == nil { // so is every object before the connection
		return nil
	}
	res, failed, version := parts.Streams.Served(key.Resource), known.Flags.Failed.Load(), parts.Passes.FailedObject(key)
	waits := failed != nil || version != nil
	switch {
	case res == nil || !waits && !known.Group.Load().HasFailed():
		return nil
	case failed != nil:
		newest, err := i.Deps.NewestVersion(ctx, res.Resource, failed.Namespace, failed.Name, key.Object)
		if err != nil || newest == nil {
			return err
		}
		version = newest
	case version == nil:
		version = known.Group.Load().Live()
	}
	request := memory.NewRetryRequest(handler)
	known.RetryNow(request)
	i.requeue(key.Resource, version)
	if !waits {
		return nil
	}
	select {
	case <-request.Taken:
	case <-time.After(retryPatience):
	case <-ctx.Done():
	}
	return nil
}

// startOver resets an object between two cycles, so that a running cycle cannot overwrite the reset with its outcome. It
// waits up to startOverPatience for the result; a failure that comes later is logged.
func (i *Intents) startOver(ctx context.Context, res *core.ServedResource, ref *inspect.Ref) error {
	waiting, cancel := context.WithTimeout(ctx, startOverPatience)
	defer cancel()
	done := make(chan error)
	queued := i.Deps.Queue.Between(queue.Key{Resource: ref.Resource, Object: ref.UID}, func(ctx context.Context) {
		err := i.reset(ctx, res, ref)
		select {
		case done <- err:
		case <-waiting.Done():
			if err != nil {
				i.Deps.Logger.Error("Cannot handle "+ref.Name+" from scratch: "+err.Error(), observe.EventKey, observe.LogStartOverFailed)
			}
		}
	})
	if queued {
		select {
		case err := <-done:
			return err
		case <-waiting.Done():
		}
	}
	if !queued || ctx.Err() != nil {
		return errors.New("the operator is stopping")
	}
	return nil
}

// reset removes the progress, the failures and the last-handled state from an object, which is then handled as if it or its deletion
// were new. It must not be called during a cycle of the object.
func (i *Intents) reset(ctx context.Context, res *core.ServedResource, ref *inspect.Ref) (err error) {
	defer core.RecoverPanic(&err) // a custom storage may panic
	obj, err := i.newest(ctx, res, ref)
	if err != nil {
		return err
	}
	forget, err := forgetting(ctx, i.Deps, res, obj)
	if err != nil {
		return err
	}
	m := i.Memories.Find(queue.Key{Resource: ref.Resource, Object: ref.UID})
	if forget.Empty() {
		if m == nil || m.Outbox.Empty() {
			return errors.New("the operator has recorded nothing on " + ref.Name)
		}
		m.StartOver()
		i.requeue(ref.Resource, obj) // no event follows
		return nil
	}
	result, err := outbox.SendPatch(ctx, i.Deps, res.Resource, obj, forget, true, i.Deps.ObjectLogger(res.Resource, obj), nil)
	if patched, ok := result.Object.(*object.Object); ok && m != nil {
		m.StartOver()
		m.Wrote(patched, i.Deps.Now().Add(i.Deps.Settings.ConsistencyTimeout))
		i.requeue(ref.Resource, patched) // the handlers are called for this version
	}
	if result.Gone {
		return deleted(ref)
	}
	return err
}

// forgetting returns the patch that removes the records.
func forgetting(ctx context.Context, d *core.Deps, res *core.ServedResource, obj *object.Object) (*patch.Patch, error) {
	tree, err := obj.Tree()
	if err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	p := patch.NewPatch()
	storage := state.BindProgress(ctx, d.Settings.Progress, obj)
	progress, err := state.ReadProgress(tree, storage, res.Changing, d.Now())
	if err != nil {
		return nil, fmt.Errorf("read the progress: %w", err)
	}
	if err := progress.Purge(tree, storage, res.Changing, p); err != nil {
		return nil, fmt.Errorf("purge the progress: %w", err)
	}
	if err := state.ForgetLastHandled(state.BindDiffBase(ctx, d.Settings.DiffBase, obj), tree, p); err != nil {
		return nil, err
	}
	d.Failures.RemoveAll(tree, p)
	return p, nil
}
