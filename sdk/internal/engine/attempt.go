package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Task is what daemons and timers find in [handlers.Call.Extra].
type Task struct {
	*daemons.Task
	Apply func(ctx context.Context) error // sends the patch while the handler goes on
}

// Attempt implements [daemons.Host].
func (s *spawner) Attempt(ctx context.Context, task *daemons.Task, retries int, started time.Time) handlers.Outcome {
	out, _ := s.invoker.try(ctx, s.newAttempt(task, retries, started))
	return out
}

// newAttempt prepares an attempt. The handler gets a version of the object with a tree of its own,
// which is decoded when the handler looks at it.
func (s *spawner) newAttempt(task *daemons.Task, retries int, started time.Time) *attempt {
	server, version := s.server(), task.Live()
	logger, recorder := server.tellers(version)
	a := &attempt{
		call: &handlers.Call{
			Cause:   &handlers.Cause{Resource: server.resource, Object: version.Detached(), Local: &Views{Memo: s.memory.memo}},
			Handler: task.Handler, Patch: task.Patch, Memo: s.memory.memo,
			Logger: logger.With(handlerKey, task.Handler.ID), Recorder: recorder,
			Extra: Task{Task: task, Apply: func(ctx context.Context) error {
				ctx, cancel := outliving(ctx, patchTimeout)
				defer cancel()
				return s.send(ctx, task)
			}},
		},
		retries: retries, started: started, backoff: s.settings.DefaultBackoff,
		logger: logger, report: s.memory.report.Load(), task: task,
	}
	if !s.settings.Posting.Loggers {
		a.failures = recorder
	}
	if task.Handler.Family == handlers.Timer {
		a.slot = new(slot) // a daemon would keep its slot for as long as it runs
	}
	return a
}

// tellers are the logger of an object, which posts events as well if it is set to, and the
// recorder of its events.
func (s *server) tellers(object *object.Object) (*slog.Logger, *Recorder) {
	logger, recorder := s.objectLogger(object), s.recorder(object)
	if recorder != nil && s.settings.Posting.Loggers {
		logger = recorder.recording(logger)
	}
	return logger, recorder
}
