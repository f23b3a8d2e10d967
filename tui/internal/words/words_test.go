package words_test

import (
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

func TestTimesAreShortAndNeverGetLongerThanTheirColumn(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "now", 0: "now", 999 * time.Millisecond: "now", time.Second: "1s", 99 * time.Second: "99s", 100 * time.Second: "1m",
		119 * time.Minute: "119m", 2 * time.Hour: "2h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 999 * 24 * time.Hour: "999d",
	} {
		if got := words.Ago(d); got != want || len(got) > 4 {
			t.Errorf("%v ago is %q, not %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "now", time.Millisecond: "in 1s", time.Second: "in 1s", 1100 * time.Millisecond: "in 2s", 12 * time.Second: "in 12s", 119 * time.Minute: "in 119m",
	} {
		if got := words.In(d); got != want || len(got) > 7 {
			t.Errorf("in %v is %q, not %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "", time.Microsecond: "<1ms", 24 * time.Millisecond: "24ms", 1300 * time.Millisecond: "1.3s", 42 * time.Second: "42s", 125 * time.Second: "2m05s", 65 * time.Minute: "1h05m",
	} {
		if got := words.Took(d); got != want || len(got) > 6 {
			t.Errorf("%v took %q, not %q", d, got, want)
		}
	}
}

func TestCountsHaveTheirNouns(t *testing.T) {
	for n, want := range map[int]string{0: "0 errors", 1: "1 error", 999: "999 errors", 1000: "1,000 errors", 1234567: "1,234,567 errors"} {
		if got := words.Count(n, "error"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEveryStateHasAGlyphOfOneCellAndAWordOfItsOwn(t *testing.T) {
	objects := []inspect.ObjectState{inspect.StateFailed, inspect.StateStuck, inspect.StateDeleting, inspect.StateRunning, inspect.StateRetrying, inspect.StateWaiting, inspect.StatePaused, inspect.StateIgnored, inspect.StateSettled}
	seen := map[string]bool{}
	for _, s := range objects {
		w := words.Object(s)
		if ansi.StringWidth(w.Glyph) != 1 || w.Text != string(s) || seen[w.Text] {
			t.Errorf("%s is %q", s, w)
		}
		seen[w.Text] = true
	}
	for _, p := range []inspect.HandlerPhase{inspect.PhaseRunning, inspect.PhaseRetrying, inspect.PhaseNext, inspect.PhaseDone, inspect.PhaseFailed, inspect.PhaseFiltered, inspect.PhaseOtherCause, inspect.PhaseSuperseded, inspect.PhaseUnknown, inspect.PhaseAlive, inspect.PhaseStopping, inspect.PhaseTicking} {
		if w := words.Handler(p); ansi.StringWidth(w.Glyph) != 1 || w.Text != string(p) {
			t.Errorf("%s is %q", p, w)
		}
	}
}

func TestAStateThatThisProgramDoesNotKnowIsItsOwnWord(t *testing.T) {
	if got := words.Object("dreaming").String(); got != "· dreaming" {
		t.Errorf("got %q", got)
	}
}

func TestTheOperatorsWordIsThatOfItsProcessUntilItSpeaksForItself(t *testing.T) {
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
		if got := words.Operator(&test.state).Text; got != test.want {
			t.Errorf("%+v is %q, not %q", test.state.Process, got, test.want)
		}
	}
}
