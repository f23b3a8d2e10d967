package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// timeLimit bounds every wait in the tests: builds are real, and the machine may be busy.
const timeLimit = 5 * time.Minute

// live is a session that runs until the end of a test.
type live struct {
	*Session
	t     *testing.T
	ended chan error
	stop  context.CancelFunc
}

func begin(t *testing.T, opts Options) *live {
	t.Helper()
	opts.Patterns = []string{"./a"}
	if opts.OpenCluster == nil {
		opts.OpenCluster = func(context.Context, func(Cluster)) (Cluster, error) {
			return Cluster{Provider: "test", Kubeconfig: "/k", Context: "c"}, nil
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	l := &live{Session: NewSession(opts), t: t, ended: make(chan error, 1), stop: cancel}
	go func() { l.ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		if err := l.end(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// end stops the session and returns the error of Run.
func (l *live) end() error {
	l.stop()
	err := <-l.ended
	l.ended <- nil
	return err
}

// until waits for a state and returns it.
func (l *live) until(what string, is func(*State) bool) *State {
	l.t.Helper()
	late := time.After(timeLimit)
	for {
		if s := l.State(); is(s) {
			return s
		}
		select {
		case _, more := <-l.Changes():
			if !more && !is(l.State()) {
				l.t.Fatalf("the session ended before %s: %+v", what, l.State())
			}
		case <-late:
			l.t.Fatalf("not %s: %+v", what, l.State())
		}
	}
}

// runs reports whether an operator is running that has published only this object.
func runs(name string) func(*State) bool {
	return func(s *State) bool {
		return s.Process.Phase == ProcessRunning && s.Live && len(s.Snapshot.Objects) == 1 && s.Snapshot.Objects[0].Name == name
	}
}

func isAlive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestSession_SaveRestartsOperatorUnlessBuildFails(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled"); r.Print("hello")`)})
	l := begin(t, Options{Dir: dir, Args: []string{"--namespace=ns"}})

	first := l.until("running", runs("one"))
	if first.Dir != dir || strings.Join(first.Packages, " ") != "example.com/op/a" {
		t.Errorf("the program is %s, %v", first.Dir, first.Packages)
	}
	for _, want := range []string{"print hello", "info started", "--kubeconfig=/k --context=c --log-format=none --inspect=unix:", "--namespace=ns"} {
		l.until("logging "+want, func(s *State) bool {
			return slices.ContainsFunc(s.Log, func(line inspect.LogLine) bool {
				return strings.Contains(string(line.Level)+" "+line.Message, want)
			})
		})
	}

	write(t, dir, "a/a.go", handlers("a", "nonsense"))
	broken := l.until("failed", func(s *State) bool { return s.Build.Phase == BuildFailed })
	if e := broken.Build.Errors; len(e) != 1 || e[0].File != "a/a.go" || e[0].Line != 6 || e[0].Message != "undefined: nonsense" || len(e[0].Source) == 0 {
		t.Errorf("the errors are %+v", e)
	}
	if broken.Process.PID != first.Process.PID || !isAlive(first.Process.PID) || !broken.Live {
		t.Errorf("the old operator was stopped: %+v", broken.Process)
	}

	write(t, dir, "a/a.go", "package a\n")
	l.until("without Register", func(s *State) bool {
		return s.Build.Phase == BuildFailed && strings.Contains(s.Build.Errors[0].Message, "no func Register")
	})

	write(t, dir, "a/a.go", handlers("a", `r.Publish("two", "settled")`))
	second := l.until("running the new code", runs("two"))
	if isAlive(first.Process.PID) {
		t.Error("the old operator is still running")
	}
	history := second.Build.History
	if len(history) != 3 || !history[0].Built || history[1].Built || history[2].Built || history[0].Ready == 0 || strings.Join(history[0].Files, " ") != "a/a.go" {
		t.Errorf("the history is %+v", history)
	}
	if second.Build.Errors != nil {
		t.Errorf("the errors were not cleared: %+v", second.Build.Errors)
	}

	if err := l.end(); err != nil {
		t.Error(err)
	}
	if isAlive(second.Process.PID) {
		t.Error("the operator is still running after its session")
	}
	if s := l.State(); s.Process.Phase != ProcessNone || s.Live || s.Log[len(s.Log)-1].Message != "stopped" {
		t.Errorf("at the end, the process is %+v, and the log ends with %+v", s.Process, s.Log[len(s.Log)-1])
	}
	if err := l.Do(t.Context(), Intent{Kind: IntentRestart}); !errors.Is(err, errEnded) {
		t.Errorf("after the end: %v", err)
	}
}

func TestSession_CrashIsPublishedAndOperatorRestarted(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Crash(func() { panic("boom") })`)})
	l := begin(t, Options{Dir: dir})
	crashed := l.until("crashed", func(s *State) bool { return s.Process.Phase == ProcessCrashed })
	p := crashed.Process
	if p.Panic == nil || p.Panic.Message != "boom" || p.Panic.File != "a/a.go" || p.Panic.Line != 6 || p.Exit != "exit status 2" {
		t.Errorf("the process is %+v, %+v", p, p.Panic)
	}
	if wait := time.Until(p.RestartAt); p.Restarts != 1 || wait > firstBackoff {
		t.Errorf("restart %d in %s", p.Restarts, wait)
	}
	if err := l.Do(t.Context(), Intent{Kind: IntentPause}); err == nil || err.Error() != "the operator has crashed" {
		t.Errorf("pause: %v", err)
	}
	l.until("crashed again", func(s *State) bool { return s.Process.Restarts == 2 })

	write(t, dir, "a/a.go", handlers("a", `r.Publish("fixed", "settled")`))
	if fixed := l.until("fixed", runs("fixed")); fixed.Process.Panic != nil || fixed.Process.Restarts != 0 {
		t.Errorf("the process is %+v", fixed.Process)
	}
}

func TestSession_UnresponsiveOperatorIsKilledAfterGrace(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled"); r.IgnoreSignals()`)})
	l := begin(t, Options{Dir: dir, Grace: 50 * time.Millisecond})
	pid := l.until("running", runs("one")).Process.PID
	if err := l.end(); err != nil {
		t.Error(err)
	}
	if isAlive(pid) {
		t.Error("the operator is still running")
	}
}

func TestSession_OperatorStartsAfterManifestsAreApplied(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)})
	release := make(chan struct{})
	l := begin(t, Options{Dir: dir, Manifests: []string{"x.yaml"}, Apply: afterSetup(func([]string) ([]settlement.Applied, error) {
		<-release
		return []settlement.Applied{{Ref: inspect.Ref{Resource: "things.v1.example.com", Namespace: "default", Name: "one", UID: "one"}, Version: "5"}}, nil
	})})
	built := l.until("built", func(s *State) bool { return s.Build.Phase == BuildBuilt && s.Cluster.Phase == ClusterReady })
	if built.Process.Phase != ProcessNone {
		t.Error("the operator was started before the manifests were applied")
	}
	close(release)
	if err := l.Settled(t.Context(), timeLimit); err != nil {
		t.Error(err)
	}
	if s := l.State(); !runs("one")(s) {
		t.Errorf("Settled returned before the state was published: %+v", s)
	}
}

func TestSession_SettledReturnsPermanentFailure(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "failed")`)})
	l := begin(t, Options{Dir: dir})
	err := l.Settled(t.Context(), timeLimit)
	if _, ok := errors.AsType[*settlement.SettleError](err); !ok || !strings.Contains(err.Error(), "things/default/one: failed") {
		t.Error(err)
	}
}

func TestSession_FailedClusterIsReopenedOnDemand(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)})
	tries := 0
	l := begin(t, Options{Dir: dir, OpenCluster: func(_ context.Context, report func(Cluster)) (Cluster, error) {
		if tries++; tries == 1 {
			report(Cluster{Phase: ClusterBuilding, Done: 3, Total: 9})
			return Cluster{}, errors.New("no cluster today")
		}
		return Cluster{Provider: "test"}, nil
	}})
	failed := l.until("failed", func(s *State) bool { return s.Cluster.Phase == ClusterFailed })
	if failed.Cluster.Error != "no cluster today" {
		t.Errorf("the cluster is %+v", failed.Cluster)
	}
	if err := l.Do(t.Context(), Intent{Kind: IntentRestart}); err != nil {
		t.Error(err)
	}
	if fixed := l.until("running", runs("one")); fixed.Cluster.Error != "" || fixed.Cluster.Phase != ClusterReady {
		t.Errorf("the cluster is %+v", fixed.Cluster)
	}
}

func TestSession_ClusterEndStopsOperatorUntilReopened(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)})
	ended := []chan struct{}{make(chan struct{}), make(chan struct{})}
	opened := 0
	l := begin(t, Options{Dir: dir, OpenCluster: func(context.Context, func(Cluster)) (Cluster, error) {
		opened++
		return Cluster{Provider: "test", Name: "dev", Server: fmt.Sprint(opened), Ended: ended[opened-1]}, nil
	}})
	first := l.until("running", runs("one"))
	close(ended[0])
	lost := l.until("stopped", func(s *State) bool {
		return s.Cluster.Phase == ClusterFailed && s.Process.Phase == ProcessNone
	})
	if !strings.Contains(lost.Cluster.Error, "the cluster dev exited") || isAlive(first.Process.PID) {
		t.Errorf("the cluster is %+v, and the operator %+v", lost.Cluster, lost.Process)
	}
	if err := l.Do(t.Context(), Intent{Kind: IntentRestart}); err != nil {
		t.Error(err)
	}
	if again := l.until("running again", runs("one")); again.Cluster.Server != "2" || again.Cluster.Error != "" {
		t.Errorf("the cluster is %+v", again.Cluster)
	}
}

func TestSession_OnceEndsWithFirstError(t *testing.T) {
	down := errors.New("no cluster today")
	gone := make(chan struct{})
	close(gone)
	for name, test := range map[string]struct {
		body string
		opts Options
		want string
	}{
		"the code":    {"nonsense", Options{}, "a/a.go:6:2: undefined: nonsense"},
		"the program": {`r.Fail("this is wrong")`, Options{}, "the operator exited unexpectedly: exit status 1\nthis is wrong"},
		"the cluster": {"", Options{OpenCluster: func(context.Context, func(Cluster)) (Cluster, error) { return Cluster{}, down }}, down.Error()},
		"the cluster, later": {"", Options{OpenCluster: func(context.Context, func(Cluster)) (Cluster, error) {
			return Cluster{Name: "dev", Ended: gone}, nil
		}}, "the control plane of the cluster dev exited unexpectedly"},
		"the manifest": {"", Options{Manifests: []string{"x"}, Apply: afterSetup(func([]string) ([]settlement.Applied, error) {
			return nil, errors.New("x: not YAML")
		})}, "x: not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			test.opts.Dir, test.opts.Once = tree(t, map[string]string{"a/a.go": handlers("a", test.body)}), true
			l := begin(t, test.opts)
			err := <-l.ended
			l.ended <- nil
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSession_WaitsForMissingRegister(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": "package a\n"})
	l := begin(t, Options{Dir: dir})
	l.until("failed", func(s *State) bool { return s.Build.Phase == BuildFailed })
	write(t, dir, "a/a.go", handlers("a", `r.Publish("one", "settled")`))
	l.until("running", runs("one"))
}

// retries returns a body of Register of an operator whose object failed in the past, until it is asked to
// retry. The comment makes its code differ.
func retries(comment string) string {
	return `r.Publish("one", "failed"); r.SettleOn("retryfailed")` + "\n\tprintln(\"" + comment + "\")"
}

func TestSession_RetriesFailuresWithNewCode(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", retries("1"))})
	l := begin(t, Options{Dir: dir, RetryFailed: true})
	if err := l.Settled(t.Context(), timeLimit); err != nil {
		t.Fatal(err)
	}
	settled := func(pid int) func(*State) bool {
		return func(s *State) bool {
			return runs("one")(s) && s.Process.PID != pid && s.Snapshot.Objects[0].State == inspect.StateSettled
		}
	}
	first := l.until("settled", settled(0))
	write(t, dir, "a/a.go", handlers("a", retries("2")))
	second := l.until("settled with new code", settled(first.Process.PID))
	if err := l.Do(t.Context(), Intent{Kind: IntentRestart}); err != nil {
		t.Fatal(err)
	}
	// Without new code, nothing is fixed.
	s := l.until("restarted", func(s *State) bool { return runs("one")(s) && s.Process.PID != second.Process.PID })
	if got := s.Snapshot.Objects[0].State; got != inspect.StateFailed {
		t.Errorf("it is %s", got)
	}
}

func TestSession_RefusedRetryLeavesFormerFailures(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "failed")`)})
	l := begin(t, Options{Dir: dir, RetryFailed: true})
	err := l.Settled(t.Context(), timeLimit)
	if failed, ok := errors.AsType[*settlement.SettleError](err); !ok || failed.Timeout != 0 || len(failed.Failed) != 1 {
		t.Errorf("the operator does not retry, but: %v", err)
	}
}

func TestSession_NoReloadPublishesSavedFilesUntilTheyAreBuilt(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)})
	for _, name := range []string{"go.mod", "a/a.go"} { // files that are newer than the build count as saved
		if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	l := begin(t, Options{Dir: dir, NoReload: true})
	if s := l.until("running", runs("one")); len(s.Build.Saved) > 0 || !s.Build.SavedAt.IsZero() {
		t.Errorf("%v were saved at %s", s.Build.Saved, s.Build.SavedAt)
	}
	rebuild := func() {
		t.Helper()
		if err := l.Do(t.Context(), Intent{Kind: IntentRebuild}); err != nil {
			t.Fatal(err)
		}
	}
	write(t, dir, "a/a.go", handlers("a", `does not compile`))
	saved := l.until("saved", func(s *State) bool { return len(s.Build.Saved) > 0 })
	if saved.Build.Saved[0] != "a/a.go" || saved.Build.SavedAt.IsZero() || !runs("one")(saved) {
		t.Errorf("%v were saved at %s", saved.Build.Saved, saved.Build.SavedAt)
	}
	rebuild()
	if s := l.until("failed", func(s *State) bool { return s.Build.Phase == BuildFailed }); len(s.Build.Saved) != 1 {
		t.Errorf("after a failed build, the saved files are %v", s.Build.Saved)
	}
	write(t, dir, "a/a.go", handlers("a", `r.Publish("two", "settled")`))
	l.until("saved again", func(s *State) bool { return s.Build.SavedAt.After(saved.Build.SavedAt) })
	rebuild()
	if s := l.until("running the saved code", runs("two")); len(s.Build.Saved) > 0 {
		t.Errorf("after the build, the saved files are %v", s.Build.Saved)
	}
}
