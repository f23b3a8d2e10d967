package tui

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestHandlers_OpenObjectsAndBack(t *testing.T) {
	start(t, "normal", 80, 24).
		press("2", "j", "j").cursorOn("relabel").
		sees("Never ran").
		press("enter").sees("relabel on 4 objects").
		sees("annotation kopf").
		press("enter").sees("Handlers  Why  YAML  Events  Log").
		press("esc").sees("relabel on 4 objects").
		press("esc").sees("7 handlers").
		press("esc").sees("11 objects")
}

func TestHandlers_RunningDaemonHasRun(t *testing.T) {
	u := start(t, "normal", 80, 24).publish(func(s *runner.State) {
		s.Snapshot.Handlers = slices.Clone(s.Snapshot.Handlers)
		for i := range s.Snapshot.Handlers {
			if h := &s.Snapshot.Handlers[i]; h.ID == "expire" {
				h.Stats = inspect.Stats{} // none of its calls has ended yet
			}
		}
	}).press("2").sees("2 never ran") // relabel and shrink
	u.press("/").write("expire").seesNot("Never ran").sees("daemon              5      –")
}

func TestHandlers_NumbersAreNotCut(t *testing.T) {
	for _, width := range []int{40, 80, 120} {
		u := start(t, "normal", width, 24)
		u.publish(func(s *runner.State) {
			s.Snapshot.Handlers = slices.Clone(s.Snapshot.Handlers)
			s.Snapshot.Handlers[0].Stats.Runs = 1234567
		})
		u.press("2").sees("1,234,568") // with the one that is running
	}
}
