package observe

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// showBackground adds the daemons and timers at the end of the list, because they do not belong to the cause.
func (o *shown) showBackground(e Planned) {
	var states []inspect.HandlerState
	for _, d := range e.Handlers.Explain(handlers.Spawning, e.Cause) {
		s := o.decided(d.Handler, e.Handlers)
		d.Why = e.Subject.Secrets.Mismatch(d.Why)
		showTask(&s, d, e.Background, e.Subject.Object.Deleting)
		states = append(states, s)
	}
	isBackground := func(h inspect.HandlerState) bool { return groupOf(h) == handlers.Spawning }
	o.Handlers = append(slices.DeleteFunc(o.Handlers, isBackground), states...)
}

// showTask shows the state of a daemon or timer, or the reason why it does not run.
func showTask(s *inspect.HandlerState, d handlers.Decision, background Background, deleting bool) {
	var task Task
	var runs, retired bool
	if background != nil {
		task, runs = background.Task(d.Handler.ID)
		retired = background.Retired(d.Handler.ID)
	}
	called, failed := s.Attempt > 0, s.Error != nil
	s.Why = nil
	if runs && !task.Stopping {
		switch s.State {
		case inspect.PhaseRetrying, inspect.PhaseDone, inspect.PhaseFailed:
			return // the task waits for a retry, or its last patch is being sent
		}
		if s.State != runningPhase(d.Handler) || task.Waiting {
			s.Next = task.Due // while the handler runs, the inspector keeps the time of the next call
		}
		s.State = runningPhase(d.Handler)
		if task.Waiting && !called && d.Handler.Family == handlers.Daemon {
			s.State = inspect.PhaseNext
		}
		return
	}
	s.Next = time.Time{}
	switch {
	case runs:
		s.State = inspect.PhaseStopping
	case !d.Selected:
		s.Why, s.State = showMismatch(d.Why), inspect.PhaseFiltered
	case retired && failed:
		s.State = inspect.PhaseFailed
	case retired, deleting && called:
		s.State = inspect.PhaseDone
	case deleting:
		s.Why, s.State = endedByDeletion(), inspect.PhaseFiltered
	default:
		s.State = inspect.PhaseNext
	}
}

// backgroundStopped shows daemons and timers that stop while no worker processes the object. After their end, they can be
// started again.
func (o *shown) backgroundStopped(e BackgroundStopped) (changed bool) {
	for _, h := range e.Handlers {
		if e.Ended && e.Background != nil {
			if _, again := e.Background.Task(h.ID); again {
				return false
			}
		}
		s := o.called(h)
		s.State = inspect.PhaseStopping
		if e.Ended {
			s.State, s.Next = inspect.PhaseNext, time.Time{}
		}
	}
	return true
}
