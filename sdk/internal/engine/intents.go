package engine

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// intents carries out what readers of the inspector ask for.
type intents struct {
	deps     *deps
	memories *memories
	streams  atomic.Pointer[streams] // nil until the operator is connected to the cluster
	stop     func()                  // stops the operator
	pauses   *pauses
}

// handle carries out an intent, or rejects it with a reason.
func (i *intents) handle(ctx context.Context, in inspect.Intent) inspect.Reply {
	reject := func(reason string) inspect.Reply { return inspect.Reply{Error: reason} }
	switch in.Kind {
	case inspect.IntentStop:
		i.stop()
	case inspect.IntentPause:
		i.pause()
	case inspect.IntentResume:
		if reason := i.resume(); reason != "" {
			return reject(reason)
		}
	case inspect.IntentRetry:
		if i.deps.state.paused.Load() {
			return reject("the operator is paused " + i.pauses.reason())
		}
		if in.Object == nil {
			return reject("retry: which object?")
		}
		if reason := i.retryNow(ctx, *in.Object, in.Handler); reason != "" {
			return reject(reason)
		}
	case inspect.IntentRetryFailed:
		if reason := i.retryAll(in); reason != "" {
			return reject(reason)
		}
	default:
		return reject("this operator does not know how to " + string(in.Kind))
	}
	return inspect.Reply{OK: true}
}

// byRequest is the reason to pause that readers of the inspector add and remove.
var byRequest = pauseKey{kind: inspect.PauseRequest}

// pause pauses the handling of all objects until somebody asks to resume.
func (i *intents) pause() {
	if i.pauses.add(byRequest, inspect.Pause{Reason: "on request"}) {
		i.deps.logger.Info("Handling is paused.", observe.EventKey, observe.LogOperatorPaused)
	}
}

// resume ends a pause on request. If others keep the operator paused, it returns the reason.
func (i *intents) resume() (reason string) {
	removed, remaining := i.pauses.remove(byRequest)
	switch {
	case remaining != "":
		return "still paused " + remaining
	case removed:
		i.deps.logger.Info("Handling is resumed.", observe.EventKey, observe.LogOperatorResumed)
	}
	return ""
}

// retryNow calls the delayed and the failed handlers of an object at once, or only one of them. If it
// cannot, it returns the reason.
func (i *intents) retryNow(ctx context.Context, ref inspect.Ref, handler string) (reason string) {
	streams := i.streams.Load()
	if streams == nil {
		return "the operator is still starting"
	}
	res := streams.served(ref.Resource)
	memory := i.memories.find(queue.Key{Resource: ref.Resource, Object: ref.UID})
	if res == nil || memory == nil {
		return ref.Name + " is unknown to the operator"
	}
	if handler != "" && !hasHandler(res, handler) {
		return fmt.Sprintf("there is no handler %q for %s", handler, ref.Name)
	}
	object, err := newestVersion(ctx, i.deps.client, res.resource, ref.Namespace, ref.Name, ref.UID)
	switch {
	case err != nil:
		return err.Error()
	case object == nil:
		return ref.Name + " was deleted"
	}
	memory.retryNow(newRetryRequest(handler))
	i.deps.queue.Again(ref.Resource, watch.Event{Type: watch.Modified, Object: object})
	return ""
}

// hasHandler reports whether a handler, or the handler of a sub-handler, is for the resource.
func hasHandler(res *servedResource, id string) bool {
	is := func(h *handlers.Handler) bool { return h.ID == id || strings.HasPrefix(id, h.ID+"/") }
	return res.handlers.Any(handlers.Changing, is) || res.handlers.Any(handlers.Spawning, is)
}

// retryAll calls the failed handlers of all objects again, or only one of them. If it cannot, it returns
// the reason.
func (i *intents) retryAll(in inspect.Intent) (reason string) {
	switch in.Value {
	case "":
	case inspect.RetryFormer:
		i.deps.state.retryFormer.Store(true) // first: objects that are found from now on are added there
	default:
		return "this operator does not know how to retry " + in.Value
	}
	for key, memory := range i.memories.all() {
		if memory.failed.Load() != nil || memory.daemonFailed() {
			i.deps.retries.add(retryJob{key: key, handler: in.Handler})
		}
	}
	return ""
}

// retryPatience is how long retries wait for the handlers of one object before they begin with another.
const retryPatience = time.Minute

// retryFailed calls the failed handlers of an object again, and waits until they were called. It does
// nothing if there are none by now.
func (i *intents) retryFailed(ctx context.Context, job retryJob) error {
	streams, memory := i.streams.Load(), i.memories.find(job.key)
	if streams == nil || memory == nil {
		return nil
	}
	res, failed := streams.served(job.key.Resource), memory.failed.Load()
	if res == nil || failed == nil && !memory.daemonFailed() {
		return nil
	}
	request := newRetryRequest(job.handler)
	if failed == nil {
		memory.retryNow(request)
		i.deps.queue.Again(job.key.Resource, watch.Event{Type: watch.Modified, Object: memory.group.Load().Live()})
		return nil
	}
	object, err := newestVersion(ctx, i.deps.client, res.resource, failed.namespace, failed.name, job.key.Object)
	if err != nil || object == nil {
		return err
	}
	memory.retryNow(request)
	i.deps.queue.Again(job.key.Resource, watch.Event{Type: watch.Modified, Object: object})
	patience := time.NewTimer(retryPatience)
	defer patience.Stop()
	select {
	case <-request.taken:
	case <-patience.C:
	case <-ctx.Done():
	}
	return nil
}
