package tui

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
)

func TestRetry_IsSentForSelectedObject(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j", "r").sees("✓ retrying web-cache")
	if len(u.source.intents) != 1 || u.source.intents[0].Kind != runner.IntentRetry || u.source.intents[0].Object.Name != "web-cache" {
		t.Fatalf("was asked for %+v", u.source.intents)
	}
}

func TestActions_UnavailableOnesShowTheReason(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j").
		sees("(r retry now)").
		press("r").sees("– retry now: nothing to retry: ml-train is settled").
		press("esc").seesNot("– retry now").
		press(":").write("retry now").sees("retry now – nothing to retry").press("esc")
	if len(u.source.intents) != 0 {
		t.Fatalf("was asked for %+v", u.source.intents)
	}
	start(t, "gone", 80, 24).press("j", "j", "j", "j", "j", "r").sees("the cluster does not answer")
	start(t, "gone", 80, 24).press("A").sees("the cluster does not answer")
	start(t, "crashed", 80, 24).press("p").sees("the operator has crashed")
}

func TestPalette_OffersActionsOfOtherPages(t *testing.T) {
	u := start(t, "normal", 120, 40)
	u.press(":").write("level").sees("level of the log").sees("7 v").press("enter").seesNot("╭─ commands")
	if u.app.current != parts.LogPage {
		t.Errorf("the page is %s, so that the effect is not seen", u.app.current.Title())
	}
	u.press("1", ":").write("kubeconfig").sees("copy the path of the kubeconfig").press("enter").sees("✓ copied")
	if u.app.current != parts.ResourcesPage {
		t.Errorf("copying opens the page %s", u.app.current.Title())
	}
	u.press("1", ":").write("freeze").sees("pause all with a priority up to 100 for 10m – the operator takes").press("esc")
	u.press("7", ":").write("save the log").sees("save the log to a file").seesNot("7 s")
}

func TestPalette_NothingFoundKeepsText(t *testing.T) {
	start(t, "normal", 80, 24).press(":").write("nonsense").sees("no command matches").press("enter").sees(": nonsense").press("esc").seesNot("nonsense")
}

func TestRetry_OfFailedObjectHandlerAndAll(t *testing.T) {
	for name, test := range map[string]struct {
		keys []string
		sees string
		want runner.Intent
	}{
		"an object":               {[]string{"r"}, "✓ retrying batch-scratch", runner.Intent{Kind: runner.IntentRetry}},
		"a handler of an object":  {[]string{"enter", "T"}, "✓ retrying create of batch-scratch", runner.Intent{Kind: runner.IntentRetry, Handler: "create"}},
		"a handler":               {[]string{"2", "T"}, "✓ retrying 1 object", runner.Intent{Kind: runner.IntentRetryFailed, Handler: "create"}},
		"a handler of its object": {[]string{"2", "enter", "T"}, "✓ retrying create of batch-scratch", runner.Intent{Kind: runner.IntentRetry, Handler: "create"}},
		"all":                     {[]string{"A"}, "✓ retrying 2 objects", runner.Intent{Kind: runner.IntentRetryFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			u := start(t, "normal", 120, 40).press(test.keys...).sees(test.sees)
			if len(u.source.intents) != 1 {
				t.Fatalf("was asked for %+v", u.source.intents)
			}
			got := u.source.intents[0]
			if ofObject := got.Object != nil; ofObject != (test.want.Kind == runner.IntentRetry) || ofObject && got.Object.Name != "batch-scratch" {
				t.Errorf("was asked for %+v", got.Object)
			}
			got.Object = nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	start(t, "normal", 120, 40).press("enter", "j", "T").sees("neither failed nor waits for a retry")
	start(t, "normal", 120, 40).press("enter", "w", "T").sees("only among the handlers (h)")
	start(t, "normal", 120, 40).press("2", "j", "T").sees("resize has not failed")
	start(t, "empty", 120, 40).press("A").sees("nothing has failed")
	start(t, "normal", 80, 24).press(":").write("retry all").press("enter").sees("✓ retrying 2 objects")
}

func TestAlarm_OffersWhatFailedBeforeTheStart(t *testing.T) {
	u := start(t, "normal", 80, 24).seesNot("failed before this start")
	u.publish(func(s *runner.State) {
		for i := range s.Snapshot.Objects {
			if o := s.Snapshot.Objects[i]; o.Name == "batch-scratch" {
				o.Handlers = slices.Clone(o.Handlers)
				o.Handlers[0].Attempts = nil // another change came, which does not call it
			}
		}
	}).seesNot("failed before this start")
	u.publish(func(s *runner.State) {
		for i := range s.Snapshot.Objects {
			if o := s.Snapshot.Objects[i]; o.Name == "batch-scratch" {
				o.Handlers = slices.Clone(o.Handlers)
				o.Handlers[0].Started = s.Snapshot.Operator.Started.Add(-time.Minute) // by an earlier process
			}
		}
	}).sees("! 1 object failed before this start · A runs the failed handlers again")
	u.press("A").sees("✓ retrying 2 objects")
	u.publish(func(s *runner.State) { // graver than failures that may be retried
		s.Snapshot.Operator.Alarms = []inspect.Alarm{{Kind: inspect.AlarmForbidden, Verb: "patch", Resource: "pods.v1"}}
	}).sees("✗ not permitted: patch pods.v1").seesNot("failed before this start")
	u.publish(func(s *runner.State) { s.Snapshot.Operator.State = inspect.OperatorPaused }).seesNot("failed before this start")
}

func TestRestart_TriesFailedClusterAgain(t *testing.T) {
	u := start(t, "no-cluster", 80, 24).press("R").sees("✓ trying the cluster again")
	if len(u.source.intents) != 1 || u.source.intents[0].Kind != runner.IntentRestart {
		t.Errorf("the intents are %+v", u.source.intents)
	}
}

func TestActions_FailureIsShown(t *testing.T) {
	u := start(t, "normal", 80, 24)
	u.source.err = errors.New("the operator does not answer")
	u.press("p").sees("✗ paused: the operator does not answer")
}

func TestPause_BecomesResume(t *testing.T) {
	u := start(t, "normal", 80, 24).press("p")
	u.publish(func(s *runner.State) { s.Snapshot.Operator.State = inspect.OperatorPaused }).
		sees("‖ paused by you · nothing is handled meanwhile · p resumes").
		press("j", "j", "j", "j", "j").sees("held").
		press("p")
	got := []runner.IntentKind{u.source.intents[0].Kind, u.source.intents[1].Kind}
	if diff := cmp.Diff([]runner.IntentKind{runner.IntentPause, runner.IntentResume}, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestPalette_PerformsTheFoundAction(t *testing.T) {
	start(t, "normal", 80, 24).press(":").write("view: bu").press("enter").sees("8 Build").sees("reloads")
	start(t, "normal", 80, 24).press(":").write("nonsense").sees("no command matches").press("esc").sees("11 objects")
	u := start(t, "empty", 80, 24).press(":").write("apply").press("enter").sees("✓ applied crd.yaml, obj.yaml")
	if len(u.source.intents) != 1 || u.source.intents[0].Kind != runner.IntentApply {
		t.Fatalf("was asked for %+v", u.source.intents)
	}
}

func TestCopy_NamesAndPaths(t *testing.T) {
	start(t, "normal", 80, 24).press("c").sees("✓ copied default/batch-scratch")
	start(t, "normal", 80, 24).press("9", "c").sees("✓ copied /home/me/.local/state/kopf/clusters/dev/kubeconfig")
	start(t, "compiling", 80, 24).press("9", "c").sees("there is no cluster yet")
}

func TestPausedObject_IsNotRetriedUntilItIsLetGo(t *testing.T) {
	u := start(t, "normal", 120, 40).press("j", "j", "j", "j", "j").cursorOn("web-cache").sees("in 12s")
	u.publish(func(s *runner.State) {
		for _, o := range s.Snapshot.Objects {
			if o.Name == "web-cache" {
				o.State, o.Paused = inspect.StatePaused, &inspect.ObjectPause{Reason: "held in the workbench"}
			}
		}
	}).sees("Paused: held in the workbench").seesNot("in 12s").sees("held: the object is paused")
	u.press("r").sees("web-cache is paused: H resumes it")
	u.press("esc", "enter").sees("held").seesNot("in 12s")
}

func TestRetry_WaitsForThePausedOperator(t *testing.T) {
	u := start(t, "paused", 120, 40).press("j", "j", "j", "j", "j", "r").sees("– retry now: the operator is paused")
	if len(u.source.intents) != 0 {
		t.Errorf("was asked for %+v", u.source.intents)
	}
}
