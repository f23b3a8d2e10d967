package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// server handles the objects of one resource.
type server struct {
	*operator

	resource    *resources.Resource
	handlers    *handlers.Set
	extraFields []object.Path
	owned       []string // the ids of all handlers that keep state on the objects
	indexed     []string // the indices that the objects are for, each once

	// onlyIndexed tells that there is nothing to do for an object but to index it, that there
	// never was, and that nobody would want to see that.
	onlyIndexed bool
}

func (o *operator) server(res *resources.Resource) *server {
	set := o.config.Registry.ForResource(res)
	return &server{
		operator:    o,
		resource:    res,
		handlers:    set,
		extraFields: set.ExtraFields(),
		owned:       idsOf(set.Handlers(handlers.Changing)),
		indexed:     slices.Compact(slices.Sorted(slices.Values(idsOf(set.Handlers(handlers.Indexing))))),
		onlyIndexed: o.reporter == nil && !set.Has(handlers.Changing) && !set.Has(handlers.Watching) && !set.Has(handlers.Spawning),
	}
}

// after makes the server the next one of a resource that was redefined. Objects that were handled
// before it are remembered, and so they are not only indexed even if no handler is for them now.
func (s *server) after(before *server) *server {
	s.onlyIndexed = s.onlyIndexed && before.onlyIndexed
	return s
}

// process handles what is new of an object. It is the queue's processor.
func (o *operator) process(ctx context.Context, batch *queue.Batch) *queue.Later {
	s := o.ensemble.server(batch.Key.Resource)
	if s == nil || o.paused.Load() {
		return nil // what is not handled now will be listed again
	}
	newest := batch.Newest
	memory := o.memories.recall(batch.Key, newest.Object.Namespace, batch.Listed, o.config.NewMemo)
	if newest.Type == watch.Deleted {
		defer o.memories.forget(batch.Key)
	}
	if wait := memory.throttle.Remaining(o.now()); wait > 0 && newest.Type != watch.Deleted {
		// Only the newest version is of interest when this is over.
		return &queue.Later{After: wait}
	}
	later, err := s.run(ctx, memory, batch)
	switch {
	case err == nil:
		o.reporter.looked(batch.Key)
		if memory.throttle.Succeeded() {
			s.objectLogger(newest.Object).Info("Throttling is over: back to normal.")
		}
		return later
	case errors.Is(err, errAborted), ctx.Err() != nil:
		return nil
	}
	logger := s.objectLogger(newest.Object).With(reasons(err)...)
	delay := memory.throttle.Failed(o.now(), o.settings.ErrorDelays)
	if newest.Type == watch.Deleted {
		o.reporter.looked(batch.Key)
		logger.Error("Handling has failed.")
		return nil
	}
	logger.Error(fmt.Sprintf("Handling has failed: it is throttled for %s.", delay))
	return &queue.Later{After: delay}
}

// objectLogger keeps the object's names, and not the object: daemons have their loggers for
// long.
func (s *server) objectLogger(object *object.Object) *slog.Logger {
	namespace, name, uid := object.Namespace, object.Name, object.UID
	return slog.New(observe.WithLazyAttrs(s.logger.Handler(), func() []slog.Attr {
		return []slog.Attr{slog.Any(observe.ObjectKey, observe.ObjectRef{
			Resource: s.resource.Key(), APIVersion: s.resource.APIVersion(), Kind: s.resource.Kind,
			Namespace: namespace, Name: name, UID: uid,
		})}
	}))
}
