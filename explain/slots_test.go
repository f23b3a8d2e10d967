package explain_test

import (
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestSlots_AreSaidWithTheNumbersOfAllHandlersOfTheLimit(t *testing.T) {
	cloud, others := &inspect.Slots{ID: 1, Running: 2}, &inspect.Slots{ID: 3, Running: 1}
	snapshot := &inspect.Snapshot{Handlers: []inspect.Handler{
		{ID: "create", Slots: cloud}, {ID: "resize", Slots: cloud}, {ID: "create", Kind: inspect.KindResume, Slots: cloud}, {ID: "report", Slots: others},
	}}
	add := func(name string, h inspect.HandlerState) *inspect.Object {
		o := &inspect.Object{Ref: inspect.Ref{Name: name, UID: name}, State: inspect.StateRunning, Handlers: []inspect.HandlerState{h}}
		snapshot.Objects = append(snapshot.Objects, o)
		return o
	}
	for i := range 1200 {
		add(fmt.Sprint(i), inspect.HandlerState{ID: "create", State: inspect.PhaseNext, Slot: true})
	}
	waits := snapshot.Objects[0]
	add("a", inspect.HandlerState{ID: "create", State: inspect.PhaseRunning})
	add("b", inspect.HandlerState{ID: "resize", State: inspect.PhaseRunning})
	running := add("c", inspect.HandlerState{ID: "report", State: inspect.PhaseRunning})
	s := explain.NewState(&runner.State{Snapshot: snapshot}, nil)

	h := &waits.Handlers[0]
	note := "waits for a slot: 2 of 2 running, 1,200 waiting (with resize)"
	if got := s.NoteOf(h, now, ""); got != note {
		t.Errorf("note: %q", got)
	}
	if got := s.VerdictOf(waits, now, ""); got != "create "+note+"." {
		t.Errorf("verdict: %q", got)
	}
	if got := s.NoteOf(h, now, "paused"); got != "held: paused" {
		t.Errorf("held: %q", got)
	}
	if got := explain.WordOf(waits).Text + explain.HandlerWordOf(h).Text + explain.WordOf(running).Text; got != "waitingwaitingrunning" {
		t.Errorf("words: %q", got)
	}
	if got := s.SlotNote(&running.Handlers[0]); got != "" {
		t.Errorf("a handler that runs: %q", got)
	}
	if used := explain.UsedSlots(snapshot); used[1] != 2 || used[3] != 1 || len(used) != 2 {
		t.Errorf("used: %v", used)
	}
	cloud.Rate, cloud.Per = 10, inspect.Duration(1e9)
	if got := s.SlotNote(h); got != "waits for a slot: 2 of 2 running, 1,200 waiting, at most 10 in 1.0s (with resize)" {
		t.Errorf("with a rate: %q", got)
	}
}
