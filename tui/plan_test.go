package tui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
)

// demoPlan returns a plan for the objects of the demo.
func demoPlan(context.Context, string, func(string)) (*parts.Plan, error) {
	change := parts.PlanShape{Title: "2  change       evc  reconcile  default/web-cache, default/web-data", Tone: explain.Busy,
		Objects: []string{"default/web-cache", "default/web-data"}, Lines: []string{
			"patch persistentvolumeclaims {namespace}/{name}-data by reconcile", "    ~ spec.resources.requests.storage: \"1Gi\" → \"1Ti\"", "    + metadata.labels.tier: \"gold\"",
			"delete deployments {namespace}/{name} by reconcile", "own changes: records"}}
	fail := parts.PlanShape{Title: "1  fail         evc  create  default/ml-train", Tone: explain.Err, Objects: []string{"default/ml-train"},
		Lines: []string{"create: would fail: spec.size must be set"}}
	return &parts.Plan{
		Effect:   "delete 1 object, change 2",
		Header:   "plan of ./handlers · copy of dev, 14:02:21 to 14:02:22, 11 objects · box: namespaces",
		Sentence: "1 fail, 2 change, 8 unchanged",
		Shapes:   []parts.PlanShape{fail, change, {Title: "8  unchanged    evc  no handler is called  default/old-logs, …", Tone: explain.Dim, Objects: []string{"default/old-logs"}}},
		Footer: []string{"in short: 1 fail, 2 change, 8 unchanged", "requests: 2 patch persistentvolumeclaims.v1; 0 of the operator itself",
			"not tried: timer probe on 3 objects", "not known: other controllers, quotas, webhooks of others, timing, objects changed since 14:02:22"},
		Marks: map[inspect.Ref]parts.PlanMark{
			{Resource: evcKey, Namespace: "default", Name: "ml-train"}:                 {Tone: explain.Err, Text: "would fail", Lines: fail.Lines},
			{Resource: evcKey, Namespace: "default", Name: "web-cache"}:                {Tone: explain.Busy, Text: "would change it", Lines: change.Lines},
			{Resource: "deployments.v1.apps", Namespace: "default", Name: "web-cache"}: {Tone: explain.Err, Text: "would delete it"},
		},
	}, nil
}

// savedCode returns a state in which code was saved that does not run yet.
func savedCode(now time.Time) *runner.State {
	s := withChildren(now)
	s.Build.Saved, s.Build.SavedAt = []string{"claims.go"}, now.Add(-time.Minute)
	return s
}

func startPlanning(t *testing.T, w, h int, plan func(context.Context, string, func(string)) (*parts.Plan, error)) *user {
	t.Helper()
	return startWith(t, scenarios["saved"](noon), w, h, Options{Title: "./handlers", Plan: plan})
}

func TestPlan_ShapesUnfold(t *testing.T) {
	u := startPlanning(t, 80, 24, demoPlan)
	u.press("i").sees("n makes a plan").press("n").sees("plan: 1 fail, 2 change, 8 unchanged").cursorOn("1  fail")
	u.sees("not tried: timer probe on 3 objects").sees("not known: other controllers").seesNot("spec.size must be set")
	u.press("enter").sees("create: would fail: spec.size must be set").sees("objects (1): default/ml-train")
	u.press("j", "enter").cursorOn("1  fail").seesNot("spec.size must be set")
	u.press("j", "enter").sees(`~ spec.resources.requests.storage: "1Gi" → "1Ti"`).sees("objects (2): default/web-cache, default/web-data")
	u.press("G").cursorOn("changed since").press("enter").sees("no entry is selected")
	u.resize(40, 10).press("g").sees("copy of dev").press("esc", "G").sees("since 14:02:22")
}

func TestPlan_MarksRowsUntilTheSavedBuildRuns(t *testing.T) {
	u := startPlanning(t, 100, 40, demoPlan).seesNot("Δ")
	u.press("i", "n").sees("this code does not run yet: b")
	u.press("1").sees("Δ web-cache").sees("Δ ml-train").seesNot("Δ web-data")
	u.press("/", "m", "l", "-", "enter").sees("Δ the saved code would fail").press("w").sees("create: would fail: spec.size must be set").press("esc", "esc", "esc")
	u.press("/").write("web-cache").press("enter", "o").sees("Δ Deployment web-cache").seesNot("Δ ConfigMap").press("esc", "esc", "esc")
	u.publish(func(s *runner.State) { s.Build.Saved, s.Process.Started = nil, noon.Add(time.Second) })
	u.press("1").seesNot("Δ").press("i").sees("! stale: the operator has started since").seesNot("does not run yet")
}

func TestPlan_IsStaleAfterASave(t *testing.T) {
	u := startPlanning(t, 80, 24, demoPlan).press("i", "n").seesNot("stale")
	u.publish(func(s *runner.State) {
		s.Build.Saved, s.Build.SavedAt = []string{"claims.go", "pods.go"}, noon.Add(time.Second)
	})
	u.sees("! stale").sees("code was saved since: claims.go, pods.go; n makes").press("1").seesNot("Δ")
	u.wait(2*time.Second).press("i", "n").seesNot("stale").press("1").sees("Δ web-cache")
}

func TestPlan_ShowsErrorsInTwoLinesAndKeepsTheLastPlan(t *testing.T) {
	err := error(nil)
	u := startPlanning(t, 80, 24, func(ctx context.Context, executable string, report func(string)) (*parts.Plan, error) {
		if err != nil {
			return nil, err
		}
		return demoPlan(ctx, executable, report)
	}).press("i", "n").sees("1 fail")
	err = errors.New("the saved code cannot be built: claims.go:49: undefined: newSiez")
	u.press("n").sees("✗ no plan").sees("✗ the saved code cannot be built").sees("1  fail")
	err = nil
	u.press("n").seesNot("✗ no plan")
}

func TestPlan_RunsInTheBackgroundAndIsCancelled(t *testing.T) {
	started := make(chan struct{})
	u := startPlanning(t, 80, 24, func(ctx context.Context, executable string, report func(string)) (*parts.Plan, error) {
		report("running the operator on the copy")
		close(started)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	u.press("i")
	_, wait := u.app.handle(tea.KeyPressMsg{Code: 'n', Text: "n"}) // u.press would wait for the plan
	<-started
	u.wait(3 * time.Second).sees("◌ running the operator on the copy, 3 s").press("n").sees("x cancels it")
	u.press("1").sees("need you") // other views continue
	u.press("i", "x")
	u.run(wait)
	u.sees("the plan was cancelled").sees("n makes a plan")
	u.app.plans.Wait()
}

func TestPlan_IncompletePlansAreWarnings(t *testing.T) {
	u := startPlanning(t, 80, 24, func(ctx context.Context, executable string, report func(string)) (*parts.Plan, error) {
		plan, err := demoPlan(ctx, executable, report)
		plan.Incomplete, plan.Sentence = true, "incomplete: "+plan.Sentence
		return plan, err
	})
	u.press("i", "n").sees(" incomplete: 1 fail").seesNot("✓ plan")
}

func TestPlan_NoPageWithoutPlans(t *testing.T) {
	u := start(t, "normal", 80, 24).press("i").sees("no action on i")
	if slices.Contains(u.app.pageKeys(), parts.PlanPage) {
		t.Error("the page can be opened")
	}
}

func TestPlan_EndsWithTheWorkbench(t *testing.T) {
	in, keyboard := io.Pipe()
	t.Cleanup(func() { _ = keyboard.Close() })
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	started, ended, done := make(chan struct{}), false, make(chan error, 1)
	go func() {
		done <- Run(ctx, newFakeSource(demo(noon)), Options{Input: in, Output: &out, Environ: []string{"TERM=xterm-256color"},
			Plan: func(ctx context.Context, _ string, _ func(string)) (*parts.Plan, error) {
				close(started)
				<-ctx.Done()
				ended = true
				return nil, context.Cause(ctx)
			}})
	}()
	if _, err := keyboard.Write([]byte("in")); err != nil {
		t.Fatal(err)
	}
	<-started
	cancel()
	if err := <-done; err != nil || !ended {
		t.Errorf("the workbench ended before the plan, %v", err)
	}
}
