package trial

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// running returns the state of an operator that has listed its objects.
func running(settled bool, objects ...*inspect.Object) *inspect.Snapshot {
	return &inspect.Snapshot{
		Operator: inspect.Operator{State: inspect.OperatorRunning, Settled: settled},
		Served:   []inspect.Resource{{Key: "claims.v1.kopf.dev", Listed: true}}, Objects: objects,
	}
}

func object(state inspect.ObjectState, handlers ...inspect.HandlerState) *inspect.Object {
	return &inspect.Object{Ref: inspect.Ref{Name: "a", UID: "1"}, State: state, Handlers: handlers}
}

func TestWatcher_SettlesWhenNothingIsLeftToDo(t *testing.T) {
	now := time.Now()
	retry := func(in time.Duration) inspect.HandlerState {
		return inspect.HandlerState{Kind: inspect.KindCreate, State: inspect.PhaseRetrying, Next: now.Add(in)}
	}
	deleted := object(inspect.StateStuck, inspect.HandlerState{Kind: inspect.KindDelete, State: inspect.PhaseRetrying, Next: now.Add(inspect.PlanLater)}, inspect.HandlerState{Kind: inspect.KindReconcile, State: inspect.PhaseNext})
	deleted.Cause = &inspect.Cause{Reason: inspect.ReasonDelete}
	existing := object(inspect.StateStuck, deleted.Handlers...)
	unlisted := running(true)
	unlisted.Served[0].Listed = false
	for _, test := range []struct {
		title    string
		snapshot *inspect.Snapshot
		requests int
		since    time.Duration // since the last request
		want     bool
		left     bool // something is left to do
	}{
		{"settled", running(true, object(inspect.StateSettled)), 0, time.Second, true, false},
		{"the event of the last write may be on its way", running(true, object(inspect.StateSettled)), 0, 0, false, false},
		{"a request is running", running(true, object(inspect.StateSettled)), 1, time.Second, false, false},
		{"objects are not listed", unlisted, 0, time.Hour, false, false},
		{"an object is not published", running(false, object(inspect.StateSettled)), 0, time.Second, false, false},
		{"a retry after the plan", running(false, object(inspect.StateRetrying, retry(inspect.PlanLater))), 0, time.Second, true, false},
		{"a retry at once", running(false, object(inspect.StateRetrying, retry(0))), 0, time.Second, false, false},
		{"a wait for an event", running(false, object(inspect.StateRetrying, inspect.HandlerState{Kind: inspect.KindReconcile, State: inspect.PhaseRetrying})), 0, time.Second, true, false},
		{"a failure with another handler to call", running(false, object(inspect.StateFailed, inspect.HandlerState{Kind: inspect.KindCreate, State: inspect.PhaseNext})), 0, time.Second, false, false},
		{"a daemon that a plan does not start", running(true, object(inspect.StateSettled, inspect.HandlerState{Kind: inspect.KindDaemon, State: inspect.PhaseNext})), 0, time.Second, true, false},
		{"a foreign finalizer", running(false, object(inspect.StateDeleting)), 0, time.Second, false, false},
		{"a foreign finalizer, and nothing happens", running(false, object(inspect.StateDeleting)), 0, time.Minute, true, false},
		{"an object that waits for its event", running(false, object(inspect.StateWaiting)), 0, time.Minute, true, true},
		{"an object that is never published", running(false, object(inspect.StateSettled)), 0, time.Minute, true, true},
		{"a deletion that is not handled", running(false, object(inspect.StateDeleting, inspect.HandlerState{Kind: inspect.KindDelete, State: inspect.PhaseNext})), 0, time.Minute, true, true},
		{"a deletion that waits for a retry, of an object with children", running(false, deleted), 0, time.Second, true, false},
		{"a retry after the plan, and a pass", running(false, existing), 0, time.Second, false, false},
		{"a slow handler", running(false, object(inspect.StateRunning, inspect.HandlerState{State: inspect.PhaseRunning})), 0, time.Minute, false, false},
	} {
		w := newWatcher()
		w.see(test.snapshot)
		if got, left := w.settled(test.requests, now.Add(-test.since)); got != test.want || (left != "") != test.left {
			t.Errorf("%s: got %t, %q", test.title, got, left)
		}
	}
}

func TestWatcher_SlowStartGivesMoreTime(t *testing.T) {
	now := time.Now()
	for since, want := range map[time.Duration]bool{30 * time.Second: false, time.Minute: true} {
		w := newWatcher()
		w.started = now.Add(-20 * time.Second)
		w.see(running(false, object(inspect.StateWaiting)))
		if got, left := w.settled(0, now.Add(-since)); got != want || strings.Contains(left, "nothing happened for 40s") != want {
			t.Errorf("after %s: got %t, %q", since, got, left)
		}
	}
}

func TestWatcher_KeepsDeletedObjectsAndNothingAfterTheEnd(t *testing.T) {
	w := newWatcher()
	if err := w.settle(); err == nil || !strings.Contains(err.Error(), "does not publish its state") {
		t.Error(err)
	}
	w = newWatcher()
	w.see(running(true, object(inspect.StateDeleting)))
	w.see(running(true))
	if err := w.settle(); err != nil {
		t.Fatal(err)
	}
	w.see(running(true, &inspect.Object{Ref: inspect.Ref{UID: "2"}}))
	objects, snapshot := w.seen()
	if len(objects) != 1 || objects[0].UID != "1" || len(snapshot.Objects) != 0 {
		t.Errorf("%+v, %+v", objects, snapshot)
	}
}

func TestWatcher_CountsUnsettledObjects(t *testing.T) {
	for n, want := range map[int]string{1: "1 object was not settled", 2: "2 objects were not settled"} {
		w := newWatcher()
		var objects []*inspect.Object
		for i := range n {
			objects = append(objects, &inspect.Object{Ref: inspect.Ref{UID: fmt.Sprint(i)}, State: inspect.StateWaiting})
		}
		w.see(running(false, objects...))
		if got := w.pending(); got != want {
			t.Errorf("%q", got)
		}
		if _, got := w.settled(0, time.Now().Add(-time.Hour)); !strings.HasPrefix(got, want+", but nothing happened") {
			t.Errorf("%q", got)
		}
	}
}

func TestTail_KeepsTheLastLines(t *testing.T) {
	var output tail
	for i := range 1000 {
		fmt.Fprintf(&output, "line %d\n", i)
	}
	if got := output.lines(); len(got) != maxTail || got[len(got)-1] != "line 999" {
		t.Errorf("%q", got)
	}
}

func TestWatcher_OperatorThatMayNotListIsRefused(t *testing.T) {
	w := newWatcher()
	s := &inspect.Snapshot{Served: []inspect.Resource{{Key: "kexes.v1.example.com"}}}
	s.Operator.State = inspect.OperatorRunning
	w.see(s)
	if got := w.refused(); got != "" {
		t.Errorf("an operator that lists is refused: %s", got)
	}
	s.Operator.Alarms = []inspect.Alarm{{Kind: inspect.AlarmForbidden, Message: "not in the copy"}}
	if got := w.refused(); !strings.Contains(got, "not in the copy") {
		t.Errorf("the reason is %q", got)
	}
	s.Served[0].Listed = true
	if got := w.refused(); got != "" {
		t.Errorf("an operator that has listed all objects is refused: %s", got)
	}
}
