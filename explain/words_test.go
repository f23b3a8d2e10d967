package explain_test

import (
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestWord_EveryStateHasNarrowGlyphAndOwnText(t *testing.T) {
	objects := []inspect.ObjectState{inspect.StateFailed, inspect.StateStuck, inspect.StateDeleting, inspect.StateRunning, inspect.StateRetrying, inspect.StateWaiting, inspect.StatePaused, inspect.StateIgnored, inspect.StateSettled}
	seen := map[string]bool{}
	for _, s := range objects {
		w := explain.ObjectWord(s)
		if ansi.StringWidth(w.Glyph) != 1 || w.Text != string(s) || seen[w.Text] {
			t.Errorf("%s is %q", s, w)
		}
		seen[w.Text] = true
	}
	for _, p := range []inspect.HandlerPhase{inspect.PhaseRunning, inspect.PhaseRetrying, inspect.PhaseNext, inspect.PhaseDone, inspect.PhaseFailed, inspect.PhaseFiltered, inspect.PhaseOtherCause, inspect.PhaseSuperseded, inspect.PhaseUnknown, inspect.PhaseAlive, inspect.PhaseStopping, inspect.PhaseTicking} {
		if w := explain.HandlerWord(p); ansi.StringWidth(w.Glyph) != 1 || w.Text != string(p) {
			t.Errorf("%s is %q", p, w)
		}
	}
}

func TestWord_UnknownStateIsShownByItsName(t *testing.T) {
	if got := explain.ObjectWord("dreaming").String(); got != "· dreaming" {
		t.Errorf("got %q", got)
	}
}

func TestGoneWord_IsDeletedWhileResourceIsServed(t *testing.T) {
	ref := inspect.Ref{Resource: "pods.v1", Name: "web-0"}
	s := &runner.State{Snapshot: &inspect.Snapshot{Served: []inspect.Resource{{Key: "pods.v1"}}}}
	if got := explain.GoneWord(s, ref); got.String() != "✓ deleted" || got.Tone != explain.OK {
		t.Errorf("it is %q", got)
	}
	ref.Resource = "jobs.v1.batch"
	if got := explain.GoneWord(s, ref).String(); got != "· gone" {
		t.Errorf("it is %q", got)
	}
}

func TestOperatorWord_IsOfProcessUntilOperatorPublishes(t *testing.T) {
	snapshot := func(s inspect.OperatorState) *inspect.Snapshot {
		return &inspect.Snapshot{Operator: inspect.Operator{State: s}}
	}
	for _, test := range []struct {
		state runner.State
		want  string
	}{
		{runner.State{Process: runner.Process{Phase: runner.ProcessNone}}, "not started"},
		{runner.State{Process: runner.Process{Phase: runner.ProcessStarting}}, "starting"},
		{runner.State{Process: runner.Process{Phase: runner.ProcessRunning}}, "starting"},
		{runner.State{Process: runner.Process{Phase: runner.ProcessRunning}, Live: true, Snapshot: snapshot(inspect.OperatorRunning)}, "running"},
		{runner.State{Process: runner.Process{Phase: runner.ProcessRunning}, Live: true, Snapshot: snapshot(inspect.OperatorPaused)}, "paused"},
		{runner.State{Process: runner.Process{Phase: runner.ProcessRunning}, Live: true, Snapshot: snapshot(inspect.OperatorStarting)}, "starting"},
		{runner.State{Process: runner.Process{Phase: runner.ProcessRunning}, Live: true, Snapshot: snapshot(inspect.OperatorStopping)}, "stopping"},
		{runner.State{Process: runner.Process{Phase: runner.ProcessRunning}, Snapshot: snapshot(inspect.OperatorPaused)}, "starting"},
		{runner.State{Process: runner.Process{Phase: runner.ProcessStopping}}, "stopping"},
		{runner.State{Process: runner.Process{Phase: runner.ProcessCrashed}}, "crashed"},
	} {
		if got := explain.OperatorWord(&test.state).Text; got != test.want {
			t.Errorf("%+v is %q, not %q", test.state.Process, got, test.want)
		}
	}
}
