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
		object *inspectedObject
		want   inspect.ObjectState
	}{
		"a handler runs, whatever else": {&inspectedObject{
			object:   inspect.Object{Cause: undone, Unanswered: &inspect.Unanswered{}},
			handlers: phases(inspect.PhaseRetrying, inspect.PhaseRunning),
		}, inspect.StateRunning},
		"the operator's patch has no answer": {&inspectedObject{
			object: inspect.Object{Cause: undone, Unanswered: &inspect.Unanswered{}}, handlers: phases(inspect.PhaseRetrying),
		}, inspect.StateWaiting},
		"its last change is denied, although all handlers are done": {&inspectedObject{
			object: inspect.Object{Cause: done, Failing: &inspect.Failing{DeniedBy: "x"}}, handlers: phases(inspect.PhaseDone),
		}, inspect.StateRetrying},
		"the removal of the finalizer is denied": {&inspectedObject{
			object: inspect.Object{Cause: undone, Finalizer: true, Failing: &inspect.Failing{DeniedBy: "x"}}, handlers: phases(inspect.PhaseDone),
			deleting: started(time.Second),
		}, inspect.StateStuck},
		"the removal of the finalizer fails": {&inspectedObject{
			object: inspect.Object{Cause: undone, Finalizer: true, Failing: &inspect.Failing{Message: "x"}}, handlers: phases(inspect.PhaseDone),
			deleting: started(time.Second),
		}, inspect.StateDeleting},
		"a handler will be retried": {&inspectedObject{
			object: inspect.Object{Cause: undone}, handlers: phases(inspect.PhaseDone, inspect.PhaseRetrying),
		}, inspect.StateRetrying},
		"a timer will be retried, although the cause is handled": {&inspectedObject{
			object: inspect.Object{Cause: done}, handlers: spawned(inspect.KindTimer, inspect.PhaseRetrying, inspect.ErrorArbitrary),
		}, inspect.StateRetrying},
		"a timer is called again after a panic": {&inspectedObject{
			object: inspect.Object{Cause: done}, handlers: spawned(inspect.KindTimer, inspect.PhaseTicking, inspect.ErrorPanic),
		}, inspect.StateRetrying},
		"a daemon is alive again after a panic": {&inspectedObject{
			object: inspect.Object{Cause: done}, handlers: spawned(inspect.KindDaemon, inspect.PhaseAlive, inspect.ErrorPanic),
		}, inspect.StateRetrying},
		"a daemon is alive after it has waited": {&inspectedObject{
			object: inspect.Object{Cause: done}, handlers: spawned(inspect.KindDaemon, inspect.PhaseAlive, inspect.ErrorTemporary),
		}, inspect.StateSettled},
		"a daemon of a deleted object is to stop, although it has failed": {&inspectedObject{
			object: inspect.Object{Cause: done, Finalizer: true}, handlers: spawned(inspect.KindDaemon, inspect.PhaseRetrying, inspect.ErrorPanic), deleting: now,
		}, inspect.StateDeleting},
		"a handler of the deletion will be retried": {&inspectedObject{
			object: inspect.Object{Cause: undone, Finalizer: true}, handlers: phases(inspect.PhaseRetrying), deleting: now,
		}, inspect.StateRetrying},
		"the deletion continues": {&inspectedObject{
			object: inspect.Object{Cause: undone, Finalizer: true}, handlers: phases(inspect.PhaseNext), deleting: now,
		}, inspect.StateDeleting},
		"the next handler is about to run": {&inspectedObject{
			object: inspect.Object{Cause: undone}, handlers: phases(inspect.PhaseDone, inspect.PhaseNext),
		}, inspect.StateRunning},
		"one failed permanently, whatever the others do": {&inspectedObject{
			object: inspect.Object{Cause: undone}, handlers: phases(inspect.PhaseFailed, inspect.PhaseRetrying),
		}, inspect.StateFailed},
		"only a daemon runs": {&inspectedObject{
			handlers: []inspect.HandlerState{{Kind: "daemon", State: inspect.PhaseAlive}},
		}, inspect.StateSettled},
		"a handler failed permanently": {&inspectedObject{
			object: inspect.Object{Cause: done}, handlers: phases(inspect.PhaseDone, inspect.PhaseFailed),
		}, inspect.StateFailed},
		"only the finalizer is left": {&inspectedObject{
			object: inspect.Object{Cause: done, Finalizer: true}, handlers: phases(inspect.PhaseDone), deleting: now,
		}, inspect.StateDeleting},
		"a deletion that is retried much later": {&inspectedObject{
			object: inspect.Object{Cause: undone, Finalizer: true}, deleting: now,
			handlers: []inspect.HandlerState{{Kind: "delete", State: inspect.PhaseRetrying, Next: now.Add(soon + time.Second)}},
		}, inspect.StateStuck},
		"kept since its deletion has failed": {&inspectedObject{
			object:   inspect.Object{Cause: &inspect.Cause{Reason: inspect.ReasonDelete, Done: now}, Finalizer: true},
			handlers: phases(inspect.PhaseFailed), deleting: started(stuckAfter),
		}, inspect.StateFailed},
		"a deletion that is retried for long": {&inspectedObject{
			object: inspect.Object{Cause: undone, Finalizer: true}, handlers: phases(inspect.PhaseRetrying), deleting: started(stuckAfter),
		}, inspect.StateStuck},
		"a deletion handler that hangs, whatever failed": {&inspectedObject{
			object: inspect.Object{Cause: undone, Finalizer: true}, handlers: phases(inspect.PhaseFailed, inspect.PhaseRunning), deleting: started(stuckAfter),
		}, inspect.StateStuck},
		"a daemon that does not stop": {&inspectedObject{
			object: inspect.Object{Finalizer: true}, handlers: []inspect.HandlerState{{Kind: "daemon", State: inspect.PhaseStopping}}, deleting: started(stuckAfter),
		}, inspect.StateStuck},
		"a long deletion that only waits for others": {&inspectedObject{
			object: inspect.Object{Cause: done}, handlers: phases(inspect.PhaseDone), deleting: started(time.Hour),
		}, inspect.StateSettled},
		"no handler matches":           {&inspectedObject{}, inspect.StateIgnored},
		"all handlers are done":        {&inspectedObject{object: inspect.Object{Cause: done}, handlers: phases(inspect.PhaseDone)}, inspect.StateSettled},
		"finalizers of others hold it": {&inspectedObject{object: inspect.Object{Cause: done}, deleting: now}, inspect.StateSettled},
		"retries are over":             {&inspectedObject{object: inspect.Object{Cause: done}, handlers: phases(inspect.PhaseRetrying)}, inspect.StateSettled},
		"handlers are filtered out":    {&inspectedObject{object: inspect.Object{Cause: done}, handlers: phases(inspect.PhaseFiltered)}, inspect.StateSettled},
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
		Tell(&in.sink, AttemptStarted{Subject: subject, Handler: in.handlers().Handlers(handlers.Changing)[0], Began: time.Now()})
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
		Tell(&in.sink, ObjectForgotten{subject.Identity})
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
		Tell(&in.sink, AttemptStarted{Subject: subject, Handler: in.handlers().Handlers(handlers.Changing)[0], Began: time.Now()})
		deleted := podObject("a", "2")
		deleted.Deleting = true
		for range 2 {
			Tell(&in.sink, EventReceived{resources.Scope{Resource: pods.Key()}, watch.Event{Type: watch.Modified, Object: deleted}})
			time.Sleep(stuckAfter - time.Second)
		}
		synctest.Wait()
		if o := in.only(t); o.State != inspect.StateStuck {
			t.Errorf("its worker has not seen the deletion: %s", o.State)
		}
		Tell(&in.sink, ObjectForgotten{subject.Identity})
		Tell(&in.sink, EventReceived{resources.Scope{Resource: pods.Key()}, watch.Event{Type: watch.Modified, Object: deleted}})
		if in.only(t) != nil {
			t.Error("it is gone")
		}
	})
}
