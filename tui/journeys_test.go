package tui

import (
	"errors"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestThePersonSeesWhichObjectsNeedThem(t *testing.T) {
	sit(t, "normal", 80, 24).
		sees("✗  2 need you   ↻  1 retrying   ▸  3 busy   ✓  5 at rest").
		press("n").cursorOn("old-logs").
		sees("Deletion waits for our finalizer").
		press("n").cursorOn("web-cache").
		sees("resize failed, attempt 2 of 5").sees("Again in 12s.")
}

func TestThePersonAsksWhyAHandlerDidNotRun(t *testing.T) {
	sit(t, "normal", 80, 24).
		press("/").write("tmp-build").press("enter").cursorOn("tmp-build").
		press("w").
		sees("No handler matches: label tier is bronze, and create and resize want gold.").
		sees("never handled before").
		press("esc").sees("/tmp-build").
		press("esc").seesNot("/tmp-build")
}

func TestTheHandlersViewLeadsToItsObjectsAndBack(t *testing.T) {
	sit(t, "normal", 80, 24).
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
	r := sit(t, "normal", 80, 24).press("n", "n", "r").sees("✓ retrying web-cache")
	if len(r.source.intents) != 1 || r.source.intents[0].Kind != runner.IntentRetry || r.source.intents[0].Object.Name != "web-cache" {
		t.Fatalf("was asked for %+v", r.source.intents)
	}
}

func TestWhatIsNotPossibleIsToldWithTheReason(t *testing.T) {
	r := sit(t, "normal", 80, 24).
		sees("(r retry now)").
		press("r").sees("– retry now: nothing to retry: batch-scratch is failed").
		press("esc").seesNot("– retry now").
		press(":").write("retry").sees("retry now – nothing to retry").press("esc")
	if len(r.source.intents) != 0 {
		t.Fatalf("was asked for %+v", r.source.intents)
	}
	sit(t, "gone", 80, 24).press("n", "n", "r").sees("the cluster does not answer")
	sit(t, "crashed", 80, 24).press("p").sees("the operator has crashed")
}

func TestAClusterThatFailedIsTriedAgain(t *testing.T) {
	r := sit(t, "no-cluster", 80, 24).press("R").sees("✓ trying the cluster again")
	if len(r.source.intents) != 1 || r.source.intents[0].Kind != runner.IntentRestart {
		t.Errorf("the intents are %+v", r.source.intents)
	}
}

func TestAnIntentThatFailsIsToldInRed(t *testing.T) {
	r := sit(t, "normal", 80, 24)
	r.source.refuse = errors.New("the operator does not answer")
	r.press("p").sees("✗ paused: the operator does not answer")
}

func TestPauseBecomesResume(t *testing.T) {
	r := sit(t, "normal", 80, 24).press("p")
	r.happens(func(s *runner.State) { s.Snapshot.Operator.State = inspect.OperatorPaused }).
		sees("‖ paused by you · nothing is handled until then · p resumes").
		press("n", "n").sees("held").
		press("p")
	got := []runner.IntentKind{r.source.intents[0].Kind, r.source.intents[1].Kind}
	if diff := cmp.Diff([]runner.IntentKind{runner.IntentPause, runner.IntentResume}, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestTheCursorSticksToItsObject(t *testing.T) {
	r := sit(t, "normal", 80, 24).press("n", "n").cursorOn("web-cache")
	r.happens(func(s *runner.State) { // two come before it
		for _, name := range []string{"aaa", "bbb"} {
			s.Snapshot.Objects = append(s.Snapshot.Objects, claim(noon, "default", name, 0, inspect.StateRunning))
		}
	}).cursorOn("web-cache")
	r.happens(func(s *runner.State) { // a restarted operator has not listed it yet
		s.Snapshot.Served = []inspect.Resource{{Key: evcKey}}
		s.Snapshot.Objects = s.Snapshot.Objects[:2]
	})
	r.happens(func(s *runner.State) {
		s.Snapshot.Served = demo(noon).Snapshot.Served
		s.Snapshot.Objects = demoObjects(noon)
	}).cursorOn("web-cache")
	r.press("s").cursorOn("web-cache").press("u").cursorOn("web-cache")
}

func TestARestartDoesNotEmptyTheList(t *testing.T) {
	r := sit(t, "normal", 80, 24)
	r.happens(func(s *runner.State) { s.Live = false }).sees("11 objects")
	r.happens(func(s *runner.State) { // the new one has looked at nothing yet
		s.Live = true
		s.Snapshot.Served, s.Snapshot.Objects = nil, nil
	}).sees("11 objects").cursorOn("batch-scratch")
	r.happens(func(s *runner.State) { // and then at the first object
		s.Snapshot.Served = []inspect.Resource{{Key: evcKey}}
		s.Snapshot.Objects = []inspect.Object{claim(noon, "default", "media", time.Minute, inspect.StateRunning)}
	}).sees("11 objects").sees("▸ running   evc   default    media")
	r.happens(func(s *runner.State) { // at all that there is
		s.Snapshot.Served = []inspect.Resource{{Key: evcKey, Listed: true}}
	}).sees("1 object").seesNot("batch-scratch")
}

func TestTheCursorStaysWhereItsObjectWas(t *testing.T) {
	r := sit(t, "normal", 80, 24).press("j", "j").cursorOn("ml-train")
	r.happens(func(s *runner.State) {
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
	r := sit(t, "normal", 80, 24).press("n", "n", "w")
	r.happens(func(s *runner.State) { s.Snapshot.Objects = s.Snapshot.Objects[:1] }).
		sees("✗ gone").sees("This object is gone").sees("spec.size  1Gi → 2Gi").
		press("r").sees("web-cache is gone").
		press("esc", "esc").seesNot("web-cache")
}

func TestTheClockMovesOnlyCountdowns(t *testing.T) {
	r := sit(t, "normal", 80, 24).press("n", "n").sees("Again in 12s.")
	r.waits(4 * time.Second).sees("Again in 8s.")
	r.waits(20 * time.Second).sees("Again now.")
}

func TestTheLogHoldsStillWhileItIsRead(t *testing.T) {
	r := sit(t, "normal", 80, 10).press("7").sees("following").sees("detaching")
	more := func(text string) {
		r.happens(func(s *runner.State) {
			s.Log = append(s.Log[1:len(s.Log):len(s.Log)], inspect.LogLine{At: noon, Level: "info", Message: text})
		})
	}
	more("first news")
	r.sees("first news").press("k", "k").sees("held").seesNot("first news")
	more("second news")
	r.sees("held, 1 newer").seesNot("second news").
		press("G").sees("following").sees("second news")
}

func TestTheLogCanBeReadByLevelAndWord(t *testing.T) {
	r := sit(t, "normal", 80, 24).press("7").seesNot("watching pods").
		press("v").sees("warn and above").seesNot("detaching").sees("left here by fmt.Println").
		press("v", "v").sees("debug and above").sees("watching pods").
		press("v", "/").write("PVC resiz").sees("temporary (2/5)").seesNot("detaching")
	if len(r.source.intents) != 2 || r.source.intents[0].Value != "debug" || r.source.intents[1].Value != "info" {
		t.Fatalf("the operator was asked for %+v", r.source.intents)
	}
}

func TestALongLineOfTheLogCanBeReadToItsEnd(t *testing.T) {
	sit(t, "normal", 80, 24).press("7").seesNot("attached to pod web-0").
		press("z").sees("attached to pod web-0").sees("detaching").
		press("z").seesNot("attached to pod web-0")
	sit(t, "normal", 60, 24).press("n", "n", "l", "z").sees("pod web-0")
}

func TestThePanicsStackIsThereForThoseWhoWrap(t *testing.T) {
	r := sit(t, "normal", 80, 24).press("7")
	r.happens(func(s *runner.State) {
		s.Log = append(s.Log[:len(s.Log):len(s.Log)], inspect.LogLine{At: noon, Level: "error", Message: `panic: oh stack="goroutine 1:\nmain()\n\t/a.go:3"`})
	}).sees("panic: oh").seesNot("goroutine 1").seesNot("stack=").
		press("z").sees("    main()").sees("        /a.go:3")
}

func TestHandlersOfFieldsAreCalledByTheirFunctionsWhereThatIsClear(t *testing.T) {
	got := shortNames([]inspect.Handler{
		{ID: "create"}, {ID: "resize/spec.size", Field: "spec.size"}, {ID: "x/spec.a", Field: "spec.a"}, {ID: "x/spec.b", Field: "spec.b"},
		{ID: "create/spec.c", Field: "spec.c"},
	})
	want := map[string]string{"create": "create", "resize/spec.size": "resize", "x/spec.a": "x/spec.a", "x/spec.b": "x/spec.b", "create/spec.c": "create/spec.c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestBuildErrorsAreShownAtTheirPlaces(t *testing.T) {
	sit(t, "buildfail", 80, 24).
		sees("── ✗ claims.go:49:14 undefined: newSiez · the old code goes on").
		press("8").sees("49 │     return grow(newSiez, c.New)").
		sees("   │                 ^").
		press("j").cursorOn("claims.go:66:2")
}

func TestQuittingTellsWhatStays(t *testing.T) {
	r := sitWith(t, demo(noon), 80, 24, Options{ClusterStays: true})
	r.press("q").sees("8 objects with our finalizer").sees("evc default/batch-scratch").sees("and 5 more")
	r.press("enter").seesNot("finalizer:") // the cursor is on the harmless answer
	if r.quit {
		t.Fatal("has quit")
	}
	if r.press("q", "q"); !r.quit {
		t.Fatal("has not quit")
	}
}

func TestQuittingIsSimpleWhereNothingStays(t *testing.T) {
	if r := sit(t, "normal", 80, 24).press("q"); !r.quit {
		t.Fatal("has not quit")
	}
	if r := sit(t, "normal", 80, 24).press(":", "ctrl+c"); !r.quit {
		t.Fatal("ctrl+c has not quit")
	}
}

func TestThePaletteDoesWhatItNames(t *testing.T) {
	sit(t, "normal", 80, 24).press(":").write("view: bu").press("enter").sees("8 Build").sees("reloads")
	sit(t, "normal", 80, 24).press(":").write("nonsense").sees("no command has such a name").press("esc").sees("11 objects")
	r := sit(t, "empty", 80, 24).press(":").write("apply").press("enter").sees("✓ applied crd.yaml, obj.yaml")
	if len(r.source.intents) != 1 || r.source.intents[0].Kind != runner.IntentApply {
		t.Fatalf("was asked for %+v", r.source.intents)
	}
}

func TestTheMouseSelectsAndOpens(t *testing.T) {
	r := sit(t, "normal", 80, 24).click(20, 7).cursorOn("ml-train").click(20, 7).sees("default/ml-train  ✓ settled")
	r.click(72, 3).sees("All handled 5m ago (create)") // the tab "Why"
	r.click(17, 1).sees("7 handlers")
	r.click(70, 0).sees("kubeconfig")
	r.click(2, 1).sees("11 objects")
	r.tell(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	r.tell(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	r.cursorOn("tmp-build") // six rows further
}

func TestAnEscapeThatIsTypedFastIsNotTakenForAlt(t *testing.T) {
	r := sit(t, "normal", 80, 24).press("w")
	r.tell(tea.KeyPressMsg{Code: '2', Mod: tea.ModAlt})
	r.sees("7 handlers")
}

func TestProblemsOnlyAndTheFilterMeetEachOther(t *testing.T) {
	sit(t, "normal", 80, 24).press("!").sees("3 of 11").seesNot("ml-train").
		press("/").write("web").sees("1 of 11").
		press("esc").sees("3 of 11").
		press("esc").sees("ml-train")
}

func TestTheWorkbenchFollowsTheStart(t *testing.T) {
	r := sit(t, "compiling", 80, 24).sees("412 of 1204 packages").sees("· not started")
	r.happens(func(s *runner.State) { *s = *firstBuildFails(noon); s.Revision = 2 }).
		sees("2 errors, 8 shows them at their places").sees("✗ claims.go:66:2")
	r.happens(func(s *runner.State) { *s = *nothingThere(noon); s.Revision = 3 }).
		sees("Your operator runs and waits for objects.").sees("apply crd.yaml, obj.yaml")
	r.happens(func(s *runner.State) { *s = *demo(noon); s.Revision = 4 }).cursorOn("batch-scratch")
}

func TestNothingOnTheScreenPromisesWhatIsNotThere(t *testing.T) {
	r := sit(t, "normal", 200, 50)
	for _, word := range []string{"Daemons", "Indices", "Webhooks", "Peers", "YAML", "Events"} {
		r.seesNot(word)
	}
	r.press("3").sees("11 objects").press("?").seesNot("YAML")
}
