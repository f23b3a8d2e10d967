package tui

import (
	"errors"
	"fmt"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestThePersonSeesWhichObjectsNeedThem(t *testing.T) {
	start(t, "normal", 80, 24).
		sees("✗  2 need you   ↻  1 retrying   ▸  3 busy   ✓  5 at rest").
		press("n").cursorOn("old-logs").
		sees("Deletion waits for our finalizer").
		press("n").cursorOn("web-cache").
		sees("resize failed, attempt 2 of 5").sees("Again in 12s.")
}

func TestThePersonAsksWhyAHandlerDidNotRun(t *testing.T) {
	start(t, "normal", 80, 24).
		press("/").write("tmp-build").press("enter").cursorOn("tmp-build").
		press("w").
		sees("No handler matches: label tier is bronze, and create and resize want gold.").
		sees("never handled before").
		press("esc").sees("/tmp-build").
		press("esc").seesNot("/tmp-build")
}

func TestTheHandlersViewLeadsToItsObjectsAndBack(t *testing.T) {
	start(t, "normal", 80, 24).
		press("2", "j", "j").cursorOn("relabel").
		sees("Never ran").
		press("enter").sees("relabel on 4 objects").
		sees("annotation kopf").
		press("enter").sees("Handlers  Why  Log").
		press("esc").sees("relabel on 4 objects").
		press("esc").sees("7 handlers").
		press("esc").sees("11 objects")
}

func TestRetryIsSentForTheObjectUnderTheCursor(t *testing.T) {
	u := start(t, "normal", 80, 24).press("n", "n", "r").sees("✓ retrying web-cache")
	if len(u.source.intents) != 1 || u.source.intents[0].Kind != runner.IntentRetry || u.source.intents[0].Object.Name != "web-cache" {
		t.Fatalf("was asked for %+v", u.source.intents)
	}
}

func TestWhatIsNotPossibleIsToldWithTheReason(t *testing.T) {
	u := start(t, "normal", 80, 24).
		sees("(r retry now)").
		press("r").sees("– retry now: nothing to retry: batch-scratch is failed").
		press("esc").seesNot("– retry now").
		press(":").write("retry").sees("retry now – nothing to retry").press("esc")
	if len(u.source.intents) != 0 {
		t.Fatalf("was asked for %+v", u.source.intents)
	}
	start(t, "gone", 80, 24).press("n", "n", "r").sees("the cluster does not answer")
	start(t, "crashed", 80, 24).press("p").sees("the operator has crashed")
}

func TestAClusterThatFailedIsTriedAgain(t *testing.T) {
	u := start(t, "no-cluster", 80, 24).press("R").sees("✓ trying the cluster again")
	if len(u.source.intents) != 1 || u.source.intents[0].Kind != runner.IntentRestart {
		t.Errorf("the intents are %+v", u.source.intents)
	}
}

func TestAnIntentThatFailsIsToldInRed(t *testing.T) {
	u := start(t, "normal", 80, 24)
	u.source.refuse = errors.New("the operator does not answer")
	u.press("p").sees("✗ paused: the operator does not answer")
}

func TestPauseBecomesResume(t *testing.T) {
	u := start(t, "normal", 80, 24).press("p")
	u.happens(func(s *runner.State) { s.Snapshot.Operator.State = inspect.OperatorPaused }).
		sees("‖ paused by you · nothing is handled until then · p resumes").
		press("n", "n").sees("held").
		press("p")
	got := []runner.IntentKind{u.source.intents[0].Kind, u.source.intents[1].Kind}
	if diff := cmp.Diff([]runner.IntentKind{runner.IntentPause, runner.IntentResume}, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestTheCursorSticksToItsObject(t *testing.T) {
	u := start(t, "normal", 80, 24).press("n", "n").cursorOn("web-cache")
	u.happens(func(s *runner.State) { // two come before it
		for _, name := range []string{"aaa", "bbb"} {
			s.Snapshot.Objects = append(s.Snapshot.Objects, claim(noon, "default", name, 0, inspect.StateRunning))
		}
	}).cursorOn("web-cache")
	u.happens(func(s *runner.State) { // a restarted operator has not listed it yet
		s.Snapshot.Served = []inspect.Resource{{Key: evcKey}}
		s.Snapshot.Objects = s.Snapshot.Objects[:2]
	})
	u.happens(func(s *runner.State) {
		s.Snapshot.Served = demo(noon).Snapshot.Served
		s.Snapshot.Objects = demoObjects(noon)
	}).cursorOn("web-cache")
	u.press("s").cursorOn("web-cache").press("u").cursorOn("web-cache")
}

func TestARestartDoesNotEmptyTheList(t *testing.T) {
	u := start(t, "normal", 80, 24)
	u.happens(func(s *runner.State) { s.Live = false }).sees("11 objects")
	u.happens(func(s *runner.State) { // the new one has looked at nothing yet
		s.Live = true
		s.Snapshot.Served, s.Snapshot.Objects = nil, nil
	}).sees("11 objects").cursorOn("batch-scratch")
	u.happens(func(s *runner.State) { // and then at the first object
		s.Snapshot.Served = []inspect.Resource{{Key: evcKey}}
		s.Snapshot.Objects = []inspect.Object{claim(noon, "default", "media", time.Minute, inspect.StateRunning)}
	}).sees("11 objects").sees("▸ running   evc   default    media")
	u.happens(func(s *runner.State) { // at all that there is
		s.Snapshot.Served = []inspect.Resource{{Key: evcKey, Listed: true}}
	}).sees("1 object").seesNot("batch-scratch")
}

func TestTheCursorStaysWhereItsObjectWas(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j").cursorOn("ml-train")
	u.happens(func(s *runner.State) {
		var rest []inspect.Object
		for _, o := range s.Snapshot.Objects {
			if o.Name != "ml-train" {
				rest = append(rest, o)
			}
		}
		s.Snapshot.Objects = rest
	}).cursorOn("old-logs")
}

func TestAnObjectThatGoesWhileItIsLookedAtIsStillThere(t *testing.T) {
	u := start(t, "normal", 80, 24).press("n", "n", "w")
	u.happens(func(s *runner.State) { s.Snapshot.Objects = s.Snapshot.Objects[:1] }).
		sees("✗ gone").sees("This object is gone").sees("spec.size  1Gi → 2Gi").
		press("r").sees("web-cache is gone").
		press("esc", "esc").seesNot("web-cache")
}

func TestTheClockMovesOnlyCountdowns(t *testing.T) {
	u := start(t, "normal", 80, 24).press("n", "n").sees("Again in 12s.")
	u.waits(4 * time.Second).sees("Again in 8s.")
	u.waits(20 * time.Second).sees("Again now.")
}

func TestTheLogHoldsStillWhileItIsRead(t *testing.T) {
	u := start(t, "normal", 80, 10).press("7").sees("following").sees("detaching")
	more := func(text string) {
		u.happens(func(s *runner.State) {
			s.Log = append(s.Log[1:len(s.Log):len(s.Log)], inspect.LogLine{At: noon, Level: "info", Message: text})
		})
	}
	more("first news")
	u.sees("first news").press("k", "k").sees("held").seesNot("first news")
	more("second news")
	u.sees("held, 1 newer").seesNot("second news").
		press("G").sees("following").sees("second news")
}

func TestTheLogCanBeReadByLevelAndWord(t *testing.T) {
	u := start(t, "normal", 80, 24).press("7").seesNot("watching pods").
		press("v").sees("warn and above").seesNot("detaching").sees("left here by fmt.Println").
		press("v", "v").sees("debug and above").sees("watching pods").
		press("v", "/").write("PVC resiz").sees("temporary (2/5)").seesNot("detaching")
	if len(u.source.intents) != 2 || u.source.intents[0].Value != "debug" || u.source.intents[1].Value != "info" {
		t.Fatalf("the operator was asked for %+v", u.source.intents)
	}
}

func TestALongLineOfTheLogCanBeReadToItsEnd(t *testing.T) {
	start(t, "normal", 80, 24).press("7").seesNot("attached to pod web-0").
		press("z").sees("attached to pod web-0").sees("detaching").
		press("z").seesNot("attached to pod web-0")
	start(t, "normal", 60, 24).press("n", "n", "l", "z").sees("pod web-0")
}

func TestThePanicsStackIsThereForThoseWhoWrap(t *testing.T) {
	u := start(t, "normal", 80, 24).press("7")
	u.happens(func(s *runner.State) {
		s.Log = append(s.Log[:len(s.Log):len(s.Log)], inspect.LogLine{At: noon, Level: "error", Message: `panic: oh stack="goroutine 1:\nmain()\n\t/a.go:3"`})
	}).sees("panic: oh").seesNot("goroutine 1").seesNot("stack=").
		press("z").sees("    main()").sees("        /a.go:3")
}

func TestBuildErrorsAreShownAtTheirPlaces(t *testing.T) {
	start(t, "buildfail", 80, 24).
		sees("── ✗ claims.go:49:14 undefined: newSiez · the old code goes on").
		press("8").sees("49 │     return grow(newSiez, c.New)").
		sees("   │                 ^").
		press("j").cursorOn("claims.go:66:2")
}

func TestQuittingTellsWhatStays(t *testing.T) {
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

func TestQuittingIsSimpleWhereNothingStays(t *testing.T) {
	if u := start(t, "normal", 80, 24).press("q"); !u.quit {
		t.Fatal("has not quit")
	}
	if u := start(t, "normal", 80, 24).press(":", "ctrl+c"); !u.quit {
		t.Fatal("ctrl+c has not quit")
	}
}

func TestThePaletteDoesWhatItNames(t *testing.T) {
	start(t, "normal", 80, 24).press(":").write("view: bu").press("enter").sees("8 Build").sees("reloads")
	start(t, "normal", 80, 24).press(":").write("nonsense").sees("no command has such a name").press("esc").sees("11 objects")
	u := start(t, "empty", 80, 24).press(":").write("apply").press("enter").sees("✓ applied crd.yaml, obj.yaml")
	if len(u.source.intents) != 1 || u.source.intents[0].Kind != runner.IntentApply {
		t.Fatalf("was asked for %+v", u.source.intents)
	}
}

func TestTheMouseSelectsAndOpens(t *testing.T) {
	u := start(t, "normal", 80, 24).click(20, 7).cursorOn("ml-train").click(20, 7).sees("default/ml-train  ✓ settled")
	u.click(72, 3).sees("All handled 5m ago (create)") // the tab "Why"
	u.click(17, 1).sees("7 handlers")
	u.click(70, 0).sees("kubeconfig")
	u.click(2, 1).sees("11 objects")
	u.tell(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	u.tell(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	u.cursorOn("tmp-build") // six rows further
}

func TestAnEscapeThatIsTypedFastIsNotTakenForAlt(t *testing.T) {
	u := start(t, "normal", 80, 24).press("w")
	u.tell(tea.KeyPressMsg{Code: '2', Mod: tea.ModAlt})
	u.sees("7 handlers")
}

func TestProblemsOnlyAndTheFilterMeetEachOther(t *testing.T) {
	start(t, "normal", 80, 24).press("!").sees("3 of 11").seesNot("ml-train").
		press("/").write("web").sees("1 of 11").
		press("esc").sees("3 of 11").
		press("esc").sees("ml-train")
}

func TestTheWorkbenchFollowsTheStart(t *testing.T) {
	u := start(t, "compiling", 80, 24).sees("412 of 1204 packages").sees("· not started")
	u.happens(func(s *runner.State) { *s = *firstBuildFails(noon); s.Revision = 2 }).
		sees("2 errors, 8 shows them at their places").sees("✗ claims.go:66:2")
	u.happens(func(s *runner.State) { *s = *nothingThere(noon); s.Revision = 3 }).
		sees("Your operator runs and waits for objects.").sees("apply crd.yaml, obj.yaml")
	u.happens(func(s *runner.State) { *s = *demo(noon); s.Revision = 4 }).cursorOn("batch-scratch")
}

func TestNothingOnTheScreenPromisesWhatIsNotThere(t *testing.T) {
	u := start(t, "normal", 200, 50)
	for _, word := range []string{"Daemons", "Indices", "Webhooks", "Peers", "YAML", "Events"} {
		u.seesNot(word)
	}
	u.press("3").sees("11 objects").press("?").seesNot("YAML")
}

func TestStart_LongErrorIsCutVisibly(t *testing.T) {
	s := clusterFails(noon)
	for n := range 12 {
		s.Cluster.Error += fmt.Sprintf("\nmissing part %d", n)
	}
	startWith(t, s, 80, 24, Options{}).sees("missing part 6…").seesNot("missing part 7")
}
