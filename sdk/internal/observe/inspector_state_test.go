package observe

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestInspectedObject_StateIsTheFirstThatApplies(t *testing.T) {
	phases := func(phases ...inspect.HandlerPhase) []inspect.HandlerState {
		states := make([]inspect.HandlerState, len(phases))
		for i, phase := range phases {
			states[i].State = phase
		}
		return states
	}
	spawned := func(kind inspect.HandlerKind, phase inspect.HandlerPhase, last inspect.ErrorKind) []inspect.HandlerState {
		return []inspect.HandlerState{{Kind: kind, State: phase, Attempt: 2, Attempts: []inspect.Attempt{{Error: &inspect.HandlerError{Kind: last}}}}}
	}
	now := time.Now()
	started := func(ago time.Duration) time.Time { return now.Add(-ago) }
	done := &inspect.Cause{Reason: "create", Done: time.Unix(1, 0)}
	undone := &inspect.Cause{Reason: "create"}
	for name, test := range map[string]struct {
		object shown
		want   inspect.ObjectState
	}{
		"a handler runs, whatever else": {shown{
			Object: inspect.Object{Cause: undone, Unanswered: &inspect.Unanswered{}, Handlers: phases(inspect.PhaseRetrying, inspect.PhaseRunning)},
		}, inspect.StateRunning},
		"the operator's patch has no answer": {shown{
			Object: inspect.Object{Cause: undone, Unanswered: &inspect.Unanswered{}, Handlers: phases(inspect.PhaseRetrying)},
		}, inspect.StateWaiting},
		"its last change is denied, although all handlers are done": {shown{
			Object: inspect.Object{Cause: done, Failing: &inspect.Failing{DeniedBy: "x"}, Handlers: phases(inspect.PhaseDone)},
		}, inspect.StateRetrying},
		"the removal of the finalizer is denied": {shown{
			Object:   inspect.Object{Cause: undone, Finalizer: true, Failing: &inspect.Failing{DeniedBy: "x"}, Handlers: phases(inspect.PhaseDone)},
			deleting: started(time.Second),
		}, inspect.StateStuck},
		"the removal of the finalizer fails": {shown{
			Object:   inspect.Object{Cause: undone, Finalizer: true, Failing: &inspect.Failing{Message: "x"}, Handlers: phases(inspect.PhaseDone)},
			deleting: started(time.Second),
		}, inspect.StateDeleting},
		"a handler will be retried": {shown{
			Object: inspect.Object{Cause: undone, Handlers: phases(inspect.PhaseDone, inspect.PhaseRetrying)},
		}, inspect.StateRetrying},
		"a timer will be retried, although the cause is handled": {shown{
			Object: inspect.Object{Cause: done, Handlers: spawned(inspect.KindTimer, inspect.PhaseRetrying, inspect.ErrorArbitrary)},
		}, inspect.StateRetrying},
		"a timer is called again after a panic": {shown{
			Object: inspect.Object{Cause: done, Handlers: spawned(inspect.KindTimer, inspect.PhaseTicking, inspect.ErrorPanic)},
		}, inspect.StateRetrying},
		"a daemon is alive again after a panic": {shown{
			Object: inspect.Object{Cause: done, Handlers: spawned(inspect.KindDaemon, inspect.PhaseAlive, inspect.ErrorPanic)},
		}, inspect.StateRetrying},
		"a daemon is alive after it has waited": {shown{
			Object: inspect.Object{Cause: done, Handlers: spawned(inspect.KindDaemon, inspect.PhaseAlive, inspect.ErrorTemporary)},
		}, inspect.StateSettled},
		"a daemon of a deleted object is to stop, although it has failed": {shown{
			Object: inspect.Object{Cause: done, Finalizer: true, Handlers: spawned(inspect.KindDaemon, inspect.PhaseRetrying, inspect.ErrorPanic)}, deleting: now,
		}, inspect.StateDeleting},
		"a handler of the deletion will be retried": {shown{
			Object: inspect.Object{Cause: undone, Finalizer: true, Handlers: phases(inspect.PhaseRetrying)}, deleting: now,
		}, inspect.StateRetrying},
		"the deletion continues": {shown{
			Object: inspect.Object{Cause: undone, Finalizer: true, Handlers: phases(inspect.PhaseNext)}, deleting: now,
		}, inspect.StateDeleting},
		"the next handler is about to run": {shown{
			Object: inspect.Object{Cause: undone, Handlers: phases(inspect.PhaseDone, inspect.PhaseNext)},
		}, inspect.StateRunning},
		"the first pass waits for the list of the children, although the cause is handled": {shown{
			Object: inspect.Object{Cause: done, Handlers: spawned(inspect.KindReconcile, inspect.PhaseNext, "")},
		}, inspect.StateRunning},
		"there was no pass before the deletion": {shown{
			Object: inspect.Object{Cause: done, Handlers: spawned(inspect.KindReconcile, inspect.PhaseNext, "")}, deleting: now,
		}, inspect.StateSettled},
		"one failed permanently, whatever the others do": {shown{
			Object: inspect.Object{Cause: undone, Handlers: phases(inspect.PhaseFailed, inspect.PhaseRetrying)},
		}, inspect.StateFailed},
		"only a daemon runs": {shown{
			Object: inspect.Object{Handlers: []inspect.HandlerState{{Kind: "daemon", State: inspect.PhaseAlive}}},
		}, inspect.StateSettled},
		"a handler failed permanently": {shown{
			Object: inspect.Object{Cause: done, Handlers: phases(inspect.PhaseDone, inspect.PhaseFailed)},
		}, inspect.StateFailed},
		"only the finalizer is left": {shown{
			Object: inspect.Object{Cause: done, Finalizer: true, Handlers: phases(inspect.PhaseDone)}, deleting: now,
		}, inspect.StateDeleting},
		"a deletion that is retried much later": {shown{
			Object: inspect.Object{Cause: undone, Finalizer: true, Handlers: []inspect.HandlerState{{Kind: "delete", State: inspect.PhaseRetrying, Next: now.Add(soon + time.Second)}}}, deleting: now,
		}, inspect.StateStuck},
		"kept since its deletion has failed": {shown{
			Object: inspect.Object{Cause: &inspect.Cause{Reason: inspect.ReasonDelete, Done: now}, Finalizer: true, Handlers: phases(inspect.PhaseFailed)}, deleting: started(stuckAfter),
		}, inspect.StateFailed},
		"a deletion that is retried for long": {shown{
			Object: inspect.Object{Cause: undone, Finalizer: true, Handlers: phases(inspect.PhaseRetrying)}, deleting: started(stuckAfter),
		}, inspect.StateStuck},
		"a deletion handler that hangs, whatever failed": {shown{
			Object: inspect.Object{Cause: undone, Finalizer: true, Handlers: phases(inspect.PhaseFailed, inspect.PhaseRunning)}, deleting: started(stuckAfter),
		}, inspect.StateStuck},
		"a daemon that does not stop": {shown{
			Object: inspect.Object{Finalizer: true, Handlers: []inspect.HandlerState{{Kind: "daemon", State: inspect.PhaseStopping}}}, deleting: started(stuckAfter),
		}, inspect.StateStuck},
		"a long deletion that only waits for others": {shown{
			Object: inspect.Object{Cause: done, Handlers: phases(inspect.PhaseDone)}, deleting: started(time.Hour),
		}, inspect.StateSettled},
		"no handler matches":           {shown{}, inspect.StateIgnored},
		"all handlers are done":        {shown{Object: inspect.Object{Cause: done, Handlers: phases(inspect.PhaseDone)}}, inspect.StateSettled},
		"finalizers of others hold it": {shown{Object: inspect.Object{Cause: done}, deleting: now}, inspect.StateSettled},
		"retries are over":             {shown{Object: inspect.Object{Cause: done, Handlers: phases(inspect.PhaseRetrying)}}, inspect.StateSettled},
		"handlers are filtered out":    {shown{Object: inspect.Object{Cause: done, Handlers: phases(inspect.PhaseFiltered)}}, inspect.StateSettled},
	} {
		if got := test.object.state(now); got != test.want {
			t.Errorf("%s: %s instead of %s", name, got, test.want)
		}
	}
}

func TestInspectedObject_LongDeletionBecomesStuckWithoutAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInspected(&handlers.Handler{ID: "d", Family: handlers.Delete})
		subject := podSubject("a", "1")
		subject.Object.Deleting = true
		cause := &handlers.Cause{Resource: &pods, Reason: handlers.ReasonDelete, Deleted: true}
		in.handle(subject, cause, nil)
		Emit(&in.sink, AttemptStarted{Subject: subject, Handler: in.handlers().Handlers(handlers.Changing)[0]})
		time.Sleep(stuckAfter - time.Second)
		synctest.Wait()
		if o := in.only(t); o.State != inspect.StateRunning {
			t.Errorf("too early: %s", o.State)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if o := in.only(t); o.State != inspect.StateStuck {
			t.Errorf("it hangs: %s", o.State)
		}
		Emit(&in.sink, ObjectForgotten{subject.Identity})
		if in.only(t) != nil {
			t.Error("it is gone")
		}
	})
}

func TestInspectedObject_DeletionBehindAnotherHandlerBecomesStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInspected(&handlers.Handler{ID: "u", Family: handlers.Update})
		subject := podSubject("a", "1")
		in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonUpdate}, nil)
		in.only(t)
		Emit(&in.sink, AttemptStarted{Subject: subject, Handler: in.handlers().Handlers(handlers.Changing)[0]})
		deleted := podObject("a", "2")
		deleted.Deleting = true
		for range 2 {
			Emit(&in.sink, EventReceived{resources.Scope{Resource: pods.Key()}, watch.Event{Type: watch.Modified, Object: deleted}})
			time.Sleep(stuckAfter - time.Second)
		}
		synctest.Wait()
		if o := in.only(t); o.State != inspect.StateStuck {
			t.Errorf("its worker has not seen the deletion: %s", o.State)
		}
		Emit(&in.sink, ObjectForgotten{subject.Identity})
		Emit(&in.sink, EventReceived{resources.Scope{Resource: pods.Key()}, watch.Event{Type: watch.Modified, Object: deleted}})
		if in.only(t) != nil {
			t.Error("it is gone")
		}
	})
}
