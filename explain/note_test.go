package explain

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestNote_OfDoneHandlersNamesIgnoredErrors(t *testing.T) {
	refused := inspect.Attempt{Error: &inspect.HandlerError{Message: "refused"}}
	for name, test := range map[string]struct {
		attempts []inspect.Attempt
		want     string
	}{
		"success":         {[]inspect.Attempt{{}}, "2.0s"},
		"retried":         {[]inspect.Attempt{refused, {}}, "2.0s"},
		"ignored":         {[]inspect.Attempt{refused}, "error ignored: refused"},
		"before a reload": {nil, "2.0s"},
	} {
		h := inspect.HandlerState{State: inspect.PhaseDone, Took: inspect.Duration(2 * time.Second), Attempts: test.attempts}
		if got := Note(&h, time.Time{}, ""); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestNote_OfUnrecordedOutcomesSaysSo(t *testing.T) {
	now := time.Now()
	h := inspect.HandlerState{State: inspect.PhaseDone, Unrecorded: now.Add(-12 * time.Second)}
	if got := Note(&h, now, ""); got != "done, not recorded yet, for 12s" {
		t.Errorf("%q", got)
	}
}
