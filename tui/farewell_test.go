package tui

import "testing"

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

func TestQuit_SaysHowToUninstallIfObjectsHaveTheFinalizer(t *testing.T) {
	options := Options{ClusterStays: true, Uninstall: func() []string { return []string{"If none will:", "  kopf uninstall ./handlers"} }}
	startWith(t, demo(noon), 100, 24, options).press("q").sees("and 5 more").sees("If none will:").sees("  kopf uninstall ./handlers")
	startWith(t, scenarios["empty"](noon), 100, 24, options).press("q").seesNot("kopf uninstall")
	options.ClusterStays = false
	startWith(t, demo(noon), 100, 24, options).press("q").seesNot("kopf uninstall")
}
