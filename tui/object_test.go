package tui

import (
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestObject_WhyNamesTheFilterThatKeptHandlersOut(t *testing.T) {
	start(t, "normal", 80, 24).
		press("/").write("tmp-build").press("enter").cursorOn("tmp-build").
		press("w").
		sees("No handler matches: label tier is bronze, and create and resize want gold.").
		sees("never handled before").
		press("esc").sees("/tmp-build").
		press("esc").seesNot("/tmp-build")
}

func TestObject_WhySaysWhatADeletionIsStuckAt(t *testing.T) {
	start(t, "normal", 80, 24).
		press("s", "g", "n").cursorOn("old-logs"). // the urgent ones come first
		press("w").sees("default/old-logs  ! stuck").
		sees("Deletion waits for our finalizer: release gave up after 5 attempts").
		sees("archive is not a handler of this code")
}

func TestObject_GoneOneIsShownAsLastSeen(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j", "w")
	u.publish(func(s *runner.State) { s.Snapshot.Objects = s.Snapshot.Objects[:1] }).
		sees("✓ deleted").sees("This object was deleted").sees("spec.size  1Gi → 2Gi").
		press("r").sees("web-cache is gone").
		press("esc", "esc").seesNot("web-cache")
}

func TestObject_WhyShowsWhatWasSetAside(t *testing.T) {
	u := start(t, "normal", 120, 40).press("j", "j", "j", "j", "j", "w").seesNot("set aside")
	u.publish(func(s *runner.State) {
		for i := range s.Snapshot.Objects {
			s.Snapshot.Objects[i].Unreadable = []inspect.Unreadable{{
				What: `the progress of handler "create"`, Where: "kopf.zalando.org/create", Error: "want a map, got\x1b[2J bool", Aside: "kopf.zalando.org/unreadable.create",
			}}
		}
	}).
		sees("set aside").sees(`the progress of handler "create" cannot be read: want a map, got`).
		sees("it was at kopf.zalando.org/create, and is kept at kopf.zalando.org/unreadable.create").
		seesNot("\x1b[2J bool")
}
