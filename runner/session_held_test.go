package runner

import (
	"os"
	"testing"
)

func TestSession_HoldsSavedBuildsUntilTheyAreToRun(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)})
	l := begin(t, Options{Dir: dir, Hold: true})
	first := l.until("running", runs("one"))
	if first.Build.Held != "" {
		t.Errorf("the first build waits: %s", first.Build.Held)
	}
	held := func(former string) *State {
		t.Helper()
		s := l.until("held", func(s *State) bool { return s.Build.Held != "" && s.Build.Held != former })
		if !runs("one")(s) || s.Process.PID != first.Process.PID || len(s.Build.Saved) != 1 || s.Build.Saved[0] != "a/a.go" || len(s.Build.History) > 0 {
			t.Errorf("the operator is %+v, saved are %v, and the history is %+v", s.Process, s.Build.Saved, s.Build.History)
		}
		return s
	}
	run := func(executable string) error { return l.Do(t.Context(), Intent{Kind: IntentRun, Value: executable}) }
	rejects := func(executable, want string) {
		t.Helper()
		if err := run(executable); err == nil || err.Error() != want {
			t.Errorf("running it: %v", err)
		}
	}
	rejects("", "no build waits")

	write(t, dir, "a/a.go", handlers("a", `r.Publish("two", "settled")`))
	second := held("")
	write(t, dir, "a/a.go", handlers("a", `r.Publish("three", "settled")`))
	third := held(second.Build.Held)
	if _, err := os.Stat(second.Build.Held); !os.IsNotExist(err) {
		t.Errorf("the replaced build is still there: %v", err)
	}
	rejects(second.Build.Held, "a newer build waits instead")

	// A restart, and a rebuild of saved code, do not run it.
	if err := l.Do(t.Context(), Intent{Kind: IntentRestart}); err != nil {
		t.Fatal(err)
	}
	first = l.until("restarted", func(s *State) bool { return runs("one")(s) && s.Process.PID != first.Process.PID })
	if first.Build.Held != third.Build.Held {
		t.Errorf("after a restart, %q waits", first.Build.Held)
	}
	if err := l.Do(t.Context(), Intent{Kind: IntentRebuild}); err != nil {
		t.Fatal(err)
	}
	fourth := l.until("held again", func(s *State) bool { return s.Build.Held != "" && s.Build.Held != third.Build.Held })
	if err := run(fourth.Build.Held); err != nil {
		t.Fatal(err)
	}
	s := l.until("running the build", func(s *State) bool { return runs("three")(s) && s.Build.History[0].Ready > 0 })
	if s.Build.Held != "" || len(s.Build.Saved) > 0 || len(s.Build.History) != 2 || len(s.Build.History[0].Files) != 1 {
		t.Errorf("the build is %+v", s.Build)
	}
}

func TestSession_BrokenAndRevertedSavesReplaceHeldBuild(t *testing.T) {
	code := handlers("a", `r.Publish("one", "settled")`)
	dir := tree(t, map[string]string{"a/a.go": code})
	l := begin(t, Options{Dir: dir, Hold: true})
	first := l.until("running", runs("one"))
	write(t, dir, "a/a.go", handlers("a", `r.Publish("two", "settled")`))
	held := l.until("held", func(s *State) bool { return s.Build.Held != "" }).Build.Held

	write(t, dir, "a/a.go", handlers("a", `nonsense`))
	s := l.until("failed", func(s *State) bool { return s.Build.Phase == BuildFailed })
	if s.Build.Held != "" || s.Process.PID != first.Process.PID {
		t.Errorf("after a failed build, %q waits, and the operator is %+v", s.Build.Held, s.Process)
	}
	if err := l.Do(t.Context(), Intent{Kind: IntentRun, Value: held}); err == nil || err.Error() != "no build waits" {
		t.Errorf("running it: %v", err)
	}
	write(t, dir, "a/a.go", code)
	s = l.until("built", func(s *State) bool { return s.Build.Phase == BuildBuilt })
	if s.Build.Held != "" || len(s.Build.Saved) > 0 || s.Process.PID != first.Process.PID {
		t.Errorf("the code of the operator waits: %+v, %+v", s.Build, s.Process)
	}
}

func TestSession_RebuildAfterAFailedBuildHoldsSavedCode(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)})
	l := begin(t, Options{Dir: dir, Hold: true})
	first := l.until("running", runs("one"))
	usable := os.Getenv("GOFLAGS")
	t.Setenv("GOFLAGS", usable+" -unknown") // the code has no errors
	write(t, dir, "a/a.go", handlers("a", `r.Publish("two", "settled")`))
	l.until("failed", func(s *State) bool { return s.Build.Phase == BuildFailed })

	t.Setenv("GOFLAGS", usable)
	if err := l.Do(t.Context(), Intent{Kind: IntentRebuild}); err != nil {
		t.Fatal(err)
	}
	s := l.until("held or running", func(s *State) bool { return s.Build.Held != "" || runs("two")(s) })
	if s.Build.Held == "" || s.Process.PID != first.Process.PID || len(s.Build.Saved) != 1 {
		t.Errorf("the operator is %+v, and the build is %+v", s.Process, s.Build)
	}
}
