package tui

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestRetry_IsSentForSelectedObject(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j", "r").sees("✓ retrying web-cache")
	if len(u.source.intents) != 1 || u.source.intents[0].Kind != runner.IntentRetry || u.source.intents[0].Object.Name != "web-cache" {
		t.Fatalf("was asked for %+v", u.source.intents)
	}
}

func TestActions_UnavailableOnesShowTheReason(t *testing.T) {
	u := start(t, "normal", 80, 24).
		sees("(r retry now)").
		press("r").sees("– retry now: nothing to retry: batch-scratch is failed").
		press("esc").seesNot("– retry now").
		press(":").write("retry").sees("retry now – nothing to retry").press("esc")
	if len(u.source.intents) != 0 {
		t.Fatalf("was asked for %+v", u.source.intents)
	}
	start(t, "gone", 80, 24).press("j", "j", "j", "j", "j", "r").sees("the cluster does not answer")
	start(t, "crashed", 80, 24).press("p").sees("the operator has crashed")
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
