package observe

import (
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// OutcomeEvents is a subscriber that posts Kubernetes events about failures and temporary errors of handlers. It does
// not post successes, because each event costs a request. It posts nothing about event handlers, which may be called very
// often. It is not used if the operator posts all log lines about objects, because these lines include the outcomes.
type OutcomeEvents struct{}

// Kinds implements [Subscriber].
func (OutcomeEvents) Kinds() []Kind { return []Kind{KindAttemptEnded} }

// Receive implements [Subscriber].
func (OutcomeEvents) Receive(event Event) {
	e, ok := event.(AttemptEnded)
	if !ok || e.Line.Level < slog.LevelWarn && outcomeName(e) != LogHandlerWaiting {
		return
	}
	switch e.Handler.Family.Group() {
	case handlers.Reconciling:
		if e.Outcome.Waits {
			return // there is one for each step of a rollout
		}
		fallthrough
	case handlers.Changing, handlers.Spawning:
		e.Subject.Recorder.Record(e.Line.Level, eventType(e.Line.Level), logReason, e.Line.Message)
	}
}
