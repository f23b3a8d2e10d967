package tui

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestDaemons_StoppingFirstAndCursorStays(t *testing.T) {
	u := start(t, "background", 120, 40).press("3").cursorOn("scratch-2").
		sees("⊖ 1 stopping").sees("8 in the background").
		press("G").cursorOn("web-data").cursorOn("in 27s")
	u.wait(2 * time.Second).cursorOn("in 25s")
	u.publish(func(s *runner.State) { // the timer of the last one fails: it moves up, and the cursor with it
		for i := range s.Snapshot.Objects {
			if o := s.Snapshot.Objects[i]; o.Name == "web-data" {
				o.Handlers = append([]inspect.HandlerState(nil), o.Handlers...)
				last := &o.Handlers[len(o.Handlers)-1]
				last.State, last.Error = inspect.PhaseFailed, &inspect.HandlerError{Kind: "permanent", Message: "no such volume"}
			}
		}
	}).cursorOn("web-data").cursorOn("✗ failed").sees("permanent: no such volume")
	u.press("T").asked(runner.Intent{Kind: runner.IntentRetry, Handler: "probe", Object: &u.app.screen.State.Objects[6].Ref})
	u.press("enter").sees("web-data").press("esc", "esc").cursorOn("web-data")
}

func TestDaemons_FilterOfOneColumn(t *testing.T) {
	u := start(t, "background", 120, 40).press("3", "/").write("state:tick").press("enter").
		sees("2 of 8").seesNot("stopping").press("esc").sees("8 in the background")
	u.press("/").write("handler:probe web").sees("2 of 8").press("esc")
	u.press("/").write("answer").sees("2 of 8").sees("web-cache")
	u.press("esc", "/").write("xyz").press("enter").sees("nothing matches; esc shows all").press("T").sees("no object is selected")
}

func TestDaemons_EmptyViewsSayHowToFillThem(t *testing.T) {
	start(t, "compiling", 80, 24).press("3").sees("known when the operator has started")
	u := start(t, "empty", 80, 24).press("3").sees("None runs")
	u.publish(func(s *runner.State) { s.Snapshot.Handlers = nil }).sees("kopf.Daemon and kopf.Timer")
}
