package engine

import (
	"context"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/inspect"
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
	changed  wakeup                  // raised when the operator is paused or resumed
}

// handle carries out an intent, or rejects it with a reason.
func (i *intents) handle(ctx context.Context, in inspect.Intent) inspect.Reply {
	reject := func(reason string) inspect.Reply { return inspect.Reply{Error: reason} }
	switch in.Kind {
	case inspect.IntentStop:
		i.stop()
	case inspect.IntentPause, inspect.IntentResume:
		i.setPaused(in.Kind == inspect.IntentPause)
	case inspect.IntentRetry:
		if i.deps.state.paused.Load() {
			return reject("the operator is paused")
		}
		if in.Object == nil {
			return reject("retry: which object?")
		}
		if reason := i.retryNow(ctx, *in.Object); reason != "" {
			return reject(reason)
		}
	default:
		return reject("this operator does not know how to " + string(in.Kind))
	}
	return inspect.Reply{OK: true}
}

// setPaused pauses or resumes the handling of all objects. It does not interrupt handlers that are
// running.
func (i *intents) setPaused(paused bool) {
	if paused {
		i.deps.state.wasPaused.Store(true) // first: events that are dropped from now on must be listed again
	}
	if i.deps.state.paused.Swap(paused) == paused {
		return
	}
	state, reason := inspect.OperatorRunning, ""
	if paused {
		state, reason = inspect.OperatorPaused, "on request"
		i.deps.logger.Info("Handling is paused.", observe.EventKey, observe.LogOperatorPaused)
	} else {
		i.deps.logger.Info("Handling is resumed.", observe.EventKey, observe.LogOperatorResumed)
	}
	observe.Tell(i.deps.sink, observe.OperatorChanged{State: state, Reason: reason})
	i.changed.raise()
}

// retryNow retries the delayed handlers of an object at once. If it cannot, it returns the reason.
func (i *intents) retryNow(ctx context.Context, ref inspect.Ref) (reason string) {
	streams := i.streams.Load()
	if streams == nil {
		return "the operator is still starting"
	}
	res := streams.served(ref.Resource)
	memory := i.memories.find(queue.Key{Resource: ref.Resource, Object: ref.UID})
	if res == nil || memory == nil {
		return ref.Name + " is unknown to the operator"
	}
	object, err := newestVersion(ctx, i.deps.client, res.resource, ref.Namespace, ref.Name, ref.UID)
	switch {
	case err != nil:
		return err.Error()
	case object == nil:
		return ref.Name + " was deleted"
	}
	memory.retryNow.Store(true)
	if group := memory.group.Load(); group != nil {
		group.RetryNow()
	}
	i.deps.queue.Again(ref.Resource, watch.Event{Type: watch.Modified, Object: object})
	return ""
}
