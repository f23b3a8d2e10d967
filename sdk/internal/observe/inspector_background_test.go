package observe

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// tasks are daemons and timers for tests.
type tasks struct {
	running map[string]Task
	retired map[string]bool
}

func (b tasks) Task(id string) (Task, bool) {
	task, ok := b.running[id]
	return task, ok
}

func (b tasks) Retired(id string) bool { return b.retired[id] }

func TestInspectedObject_DaemonIsDoneWhileItsLastPatchIsSent(t *testing.T) {
	daemon := &handlers.Handler{ID: "d", Family: handlers.Daemon}
	in := newInspected(daemon)
	subject := podSubject("a", "1")
	phase := func(background Background) inspect.HandlerPhase {
		Emit(&in.sink, Planned{
			Subject: subject, Cause: &handlers.Cause{Resource: &pods}, Handlers: in.handlers(), Background: background,
		})
		return in.only(t).Handlers[0].State
	}
	if got := phase(nil); got != inspect.PhaseNext {
		t.Errorf("before it is started, it is %s", got)
	}
	runs := tasks{running: map[string]Task{"d": {}}}
	if got := phase(runs); got != inspect.PhaseAlive {
		t.Errorf("while it runs, it is %s", got)
	}
	Emit(&in.sink, AttemptEnded{Subject: subject, Handler: daemon, Outcome: handlers.Outcome{Final: true}})
	if got := phase(runs); got != inspect.PhaseDone {
		t.Errorf("while its last patch is sent, it is %s", got)
	}
	if got := phase(tasks{retired: map[string]bool{"d": true}}); got != inspect.PhaseDone {
		t.Errorf("after that, it is %s", got)
	}
}

func TestInspectedObject_PhasesOfDaemonsAndTimers(t *testing.T) {
	daemon := &handlers.Handler{ID: "x", Family: handlers.Daemon}
	timer := &handlers.Handler{ID: "x", Family: handlers.Timer}
	matches := func(h *handlers.Handler) handlers.Decision { return handlers.Decision{Handler: h, Selected: true} }
	called := inspect.HandlerState{Attempt: 1, State: inspect.PhaseTicking}
	broken := inspect.HandlerState{Attempt: 1, Error: &inspect.HandlerError{}}
	due := time.Unix(100, 0)
	for name, test := range map[string]struct {
		before            inspect.HandlerState
		decision          handlers.Decision
		task              *Task
		deleting, retired bool
		want              inspect.HandlerPhase
		next              time.Time
	}{
		"a daemon that runs":                {decision: matches(daemon), task: &Task{}, want: inspect.PhaseAlive},
		"one with an initial delay":         {decision: matches(daemon), task: &Task{Due: due, Waiting: true}, want: inspect.PhaseNext, next: due},
		"one that waits for its retry":      {before: inspect.HandlerState{State: inspect.PhaseRetrying, Next: due}, decision: matches(daemon), task: &Task{Waiting: true}, want: inspect.PhaseRetrying, next: due},
		"one that will be started":          {decision: matches(daemon), want: inspect.PhaseNext},
		"one that stops":                    {before: called, decision: handlers.Decision{Handler: daemon}, task: &Task{Stopping: true, Due: due}, want: inspect.PhaseStopping},
		"an idle timer":                     {decision: matches(timer), task: &Task{Due: due, Waiting: true}, want: inspect.PhaseTicking, next: due},
		"a timer between its ticks":         {before: called, decision: matches(timer), task: &Task{Due: due, Waiting: true}, want: inspect.PhaseTicking, next: due},
		"one whose last patch is sent":      {before: inspect.HandlerState{Attempt: 1, State: inspect.PhaseTicking, Next: due}, decision: matches(timer), task: &Task{}, want: inspect.PhaseTicking, next: due},
		"one that does not match":           {before: called, decision: handlers.Decision{Handler: timer}, want: inspect.PhaseFiltered},
		"one that ended on its own":         {before: called, decision: matches(timer), retired: true, want: inspect.PhaseDone},
		"one that failed":                   {before: broken, decision: matches(timer), retired: true, want: inspect.PhaseFailed},
		"one that ended with its object":    {before: called, decision: matches(timer), deleting: true, want: inspect.PhaseDone},
		"one that was not started in time":  {decision: matches(daemon), deleting: true, want: inspect.PhaseFiltered},
		"one that is stopped with a retry":  {before: inspect.HandlerState{State: inspect.PhaseRetrying}, decision: matches(daemon), task: &Task{Stopping: true}, want: inspect.PhaseStopping},
		"one that mismatches before a call": {decision: handlers.Decision{Handler: daemon}, want: inspect.PhaseFiltered},
	} {
		t.Run(name, func(t *testing.T) {
			background := tasks{running: map[string]Task{}, retired: map[string]bool{"x": test.retired}}
			if test.task != nil {
				background.running["x"] = *test.task
			}
			state := test.before
			showTask(&state, test.decision, background, test.deleting)
			if state.State != test.want || !state.Next.Equal(test.next) {
				t.Errorf("it is %s until %s", state.State, state.Next)
			}
			if (state.Why != nil) != (test.want == inspect.PhaseFiltered) {
				t.Errorf("it is %s because of %v", state.State, state.Why)
			}
		})
	}
}

func TestInspectedObject_DaemonStoppedWithoutWorker(t *testing.T) {
	daemon := &handlers.Handler{ID: "d", Family: handlers.Daemon}
	in := newInspected(daemon)
	subject := podSubject("a", "1")
	Emit(&in.sink, AttemptStarted{Subject: subject, Handler: daemon})
	phase := func(e BackgroundStopped) inspect.HandlerPhase {
		e.Identity, e.Handlers = subject.Identity, []*handlers.Handler{daemon}
		Emit(&in.sink, e)
		return in.only(t).Handlers[0].State
	}
	if got := phase(BackgroundStopped{}); got != inspect.PhaseStopping {
		t.Error(got)
	}
	if got := phase(BackgroundStopped{Ended: true, Background: tasks{running: map[string]Task{"d": {}}}}); got != inspect.PhaseStopping {
		t.Errorf("it was started again, but it is %s", got)
	}
	if got := phase(BackgroundStopped{Ended: true, Background: tasks{}}); got != inspect.PhaseNext {
		t.Error(got)
	}
}
