package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// spawner is the host of the daemons and timers of an object.
type spawner struct {
	*operator
	memory *memory
	known  atomic.Pointer[server]
}

var _ daemons.Host = (*spawner)(nil)

func newSpawner(s *server, m *memory) *spawner {
	sp := &spawner{operator: s.operator, memory: m}
	sp.known.Store(s)
	return sp
}

// server is who serves the resource now, since its definition can change while tasks run. What
// is not served any more is as it was at last.
func (s *spawner) server() *server {
	known := s.known.Load()
	if now := s.ensemble.server(known.resource.Key()); now != nil && now != known {
		s.known.Store(now)
		return now
	}
	return known
}

// MayStart implements [daemons.Host].
func (s *spawner) MayStart() bool {
	return !s.paused.Load() && !s.ending.Load() && s.memory.held.Load() && !s.memory.left.Load()
}

// Logger implements [daemons.Host].
func (s *spawner) Logger() *slog.Logger {
	logger, _ := s.server().tellers(s.memory.group.Load().Live())
	return logger
}

// Attempt implements [daemons.Host].
func (s *spawner) Attempt(ctx context.Context, task *daemons.Task, retries int, started time.Time) handlers.Outcome {
	a := &attempt{server: s.server(), spawner: s, task: task, retries: retries, started: started}
	refusal, err := a.begin(ctx)
	if refusal != nil {
		return *refusal
	}
	var result any
	if err == nil {
		result, err = a.invoke(ctx)
	}
	return a.end(ctx, result, err)
}

// Deliver implements [daemons.Host].
func (s *spawner) Deliver(ctx context.Context, task *daemons.Task, out handlers.Outcome) {
	logger := s.Logger()
	if err := state.DeliverResults(map[string]handlers.Outcome{task.Handler.ID: out}, task.Patch); err != nil {
		logger.Error("A result cannot be stored.", "error", err)
	}
	// The handler's context may have ended: what it has done is to be known nevertheless.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(s.background, cancel)()
	last := out.Final && (task.Handler.Interval == nil || out.Err != nil) // as far as is known
	for failures := (queue.Throttler{}); ; {
		err := s.send(ctx, task)
		what := fmt.Sprintf("What %s has changed cannot be sent", task)
		switch {
		case err == nil:
			return
		case hopeless(err):
			logger.With(reasons(err)...).Error(what + ".")
			return
		case !last:
			logger.Error(what+": it is tried again with its next call.", "error", err)
			return
		case task.Reason() != 0:
			logger.Error(what+": it is lost.", "error", err)
			return
		}
		delay := max(time.Second, failures.Failed(s.now(), s.settings.ErrorDelays))
		logger.Error(fmt.Sprintf("%s: it is tried again in %s.", what, delay), "error", err)
		task.Sleep(delay)
	}
}

// send sends what is in the patch of a task. What could not be sent stays there.
func (s *spawner) send(ctx context.Context, task *daemons.Task) error {
	unsent, object := task.Patch.Take(), task.Live()
	for range maxConflicts {
		if unsent.Empty() {
			return nil
		}
		remaining, err := s.sendOnce(ctx, task, object, unsent)
		switch {
		case hopeless(err): // all but the transformations has been sent
			return err
		case err != nil:
			task.Patch.Restore(unsent)
			return err
		case remaining == nil:
			return nil
		}
		// The object has changed meanwhile. No cycle comes to transform its newest version.
		unsent = remaining
		newest, err := s.newest(ctx, s.server().resource, object.Namespace, object.Name, object.UID)
		switch {
		case err != nil:
			task.Patch.Restore(unsent)
			return err
		case newest == nil:
			return nil // nothing is left to be transformed
		}
		object = newest
	}
	task.Patch.Restore(unsent)
	return errContended
}

// maxConflicts is how often transformations are tried that meet with changes by others.
const maxConflicts = 10

var errContended = errors.New("the object changes too often to be transformed")

// sendOnce sends a patch of a version of the object, and returns what remains since there is
// a newer one.
func (s *spawner) sendOnce(ctx context.Context, task *daemons.Task, obj *object.Object, p *patch.Patch) (remaining *patch.Patch, err error) {
	server, logger := s.server(), s.Logger()
	result, err := server.patchObject(ctx, obj, p, logger)
	made, _ := result.Object.(*object.Object)
	if made != nil {
		task.Wrote(made)
	}
	if err == nil && made != nil {
		server.checkPruned(s.memory, logger, p, made)
	}
	return result.Remaining, err
}

// Ended implements [daemons.Host]: somebody may wait for the end, such as the deletion
// of the object, or another start.
func (s *spawner) Ended(task *daemons.Task) {
	s.memory.report.Load().ended(s.memory.group.Load(), task)
	object, resource := task.Live(), s.known.Load().resource.Key()
	if s.memories.find(queue.KeyOf(resource, object)) == nil {
		return // it is gone: nobody waits, and it must not be remembered anew
	}
	s.queue.Again(resource, watch.Event{Type: watch.Modified, Object: object})
}

// key identifies the object of the cycle.
func (c *cycle) key() queue.Key { return queue.KeyOf(c.resource.Key(), c.object) }
