package tui

import (
	"testing"

	"github.com/kopf-dev/kopf/runner"
)

func TestQuit_AsksIfSomethingStays(t *testing.T) {
	u := startWith(t, demo(noon), 80, 24, Options{ClusterStays: true})
	u.press("q").sees("8 objects with our finalizer").sees("evc default/batch-scratch").sees("and 5 more")
	u.press("enter").seesNot("finalizer:") // the cursor is on the harmless answer
	if u.quit {
		t.Fatal("has quit")
	}
	if u.press("q", "q"); !u.quit {
		t.Fatal("has not quit")
	}
}

func TestQuit_EndsAtOnceIfNothingStays(t *testing.T) {
	if u := start(t, "normal", 80, 24).press("q"); !u.quit {
		t.Fatal("has not quit")
	}
	if u := start(t, "normal", 80, 24).press(":", "ctrl+c"); !u.quit {
		t.Fatal("ctrl+c has not quit")
	}
}

func TestQuit_SaysHowToRemoveTheFinalizersOfAForeignCluster(t *testing.T) {
	u := startWith(t, demo(noon), 100, 24, Options{Title: "./handlers", ClusterStays: true})
	u.press("q").seesNot("kopf uninstall").press("esc")
	u.publish(func(s *runner.State) { s.Cluster.Provider, s.Cluster.Name = "context", "staging" })
	u.press("q").sees("Remove the finalizers with: kopf uninstall ./handlers --context=staging")
}
