package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/parts"
)

// planFor returns a plan for an executable.
type planFor func(executable string) (*parts.Plan, error)

// startHolding starts a workbench whose session holds saved builds.
func startHolding(t *testing.T, w, h int, plan planFor) *user {
	t.Helper()
	return startWith(t, withChildren(noon), w, h, Options{Title: "./handlers", Plan: func(_ context.Context, executable string, _ func(string)) (*parts.Plan, error) {
		return plan(executable)
	}})
}

// hold publishes a build that waits.
func (u *user) hold(executable string) *user {
	u.wait(time.Second)
	at := u.now
	return u.wait(time.Second).publish(func(s *runner.State) {
		s.Build.Held, s.Build.Saved, s.Build.SavedAt = executable, []string{"claims.go"}, at
	})
}

// ran returns the executables that the workbench has asked to run.
func (u *user) ran() string {
	var all []string
	for _, intent := range u.source.intents {
		if intent.Kind == runner.IntentRun {
			all = append(all, intent.Value)
		}
	}
	return strings.Join(all, " ")
}

// planned is a [planFor] with effects.
func planned(string) (*parts.Plan, error) { return demoPlan(context.Background(), "", nil) }

func TestHeld_BuildWaitsForAKeyIfItsPlanHasEffects(t *testing.T) {
	u := startHolding(t, 100, 40, planned).seesNot("Δ").hold("/op-2")
	u.sees("◌ waits").sees("! the saved build would delete 1 object, change 2 · b runs it · i plan").sees("Δ web-cache")
	u.press("8").sees("◌ waits: b runs it").press("i").sees("this code does not run yet: b").cursorOn("1  fail")
	u.resize(80, 24).sees("! the saved build would delete 1 object, change 2 · b runs it").press("?").sees("run the build").press("esc")
	if got := u.ran(); got != "" {
		t.Errorf("without a key, it runs %s", got)
	}
	u.press("b").sees("the saved build starts")
	if got := u.ran(); got != "/op-2" {
		t.Errorf("the key runs %q", got)
	}
	u.publish(func(s *runner.State) { s.Build.Held, s.Build.Saved = "", nil }).press("1").seesNot("Δ").seesNot("saved build would")
	u.press("b").sees("rebuilding")
}

func TestHeld_BuildRunsIfItsPlanHasNoEffect(t *testing.T) {
	u := startHolding(t, 80, 24, func(string) (*parts.Plan, error) {
		return &parts.Plan{Sentence: "1 fail, 9 unchanged"}, nil
	}).hold("/op-2").sees("plan: 1 fail, 9 unchanged; the saved build starts")
	if got := u.ran(); got != "/op-2" {
		t.Errorf("it runs %q", got)
	}
}

func TestHeld_BuildWaitsWithoutAWholePlan(t *testing.T) {
	for name, test := range map[string]struct {
		plan *parts.Plan
		err  error
		sees string
	}{
		"one thing":  {&parts.Plan{Sentence: "9 unchanged", NotTried: 1}, nil, "! the saved build waits: 1 thing was not tried · b runs it · i plan"},
		"two things": {&parts.Plan{Sentence: "9 unchanged", NotTried: 2}, nil, "! the saved build waits: 2 things were not tried · b runs it · i plan"},
		"failed":     {nil, errors.New("no box"), "! the saved build waits, because it has no plan"},
		"incomplete": {&parts.Plan{Sentence: "incomplete: 9 unchanged", Incomplete: true}, nil, "! the saved build waits, because its plan is incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			u := startHolding(t, 80, 24, func(string) (*parts.Plan, error) { return test.plan, test.err }).hold("/op-2").sees(test.sees)
			if got := u.ran(); got != "" {
				t.Errorf("it runs %s", got)
			}
			if u.press("b"); u.ran() != "/op-2" {
				t.Errorf("the key runs %q", u.ran())
			}
		})
	}
}

func TestHeld_NewerBuildReplacesTheRunningPlan(t *testing.T) {
	begun, ended := make(chan string, 2), make(chan struct{})
	u := startWith(t, withChildren(noon), 80, 24, Options{Plan: func(ctx context.Context, executable string, _ func(string)) (*parts.Plan, error) {
		begun <- executable
		if executable == "/op-2" {
			<-ctx.Done()
			close(ended)
			return nil, context.Cause(ctx)
		}
		return &parts.Plan{Sentence: "9 unchanged"}, nil
	}})
	hold := func(executable string) (wait func()) {
		u.wait(time.Second)
		return u.show(func(s *runner.State) {
			s.Build.Held, s.Build.Saved, s.Build.SavedAt = executable, []string{"claims.go"}, u.now
		})
	}
	first := hold("/op-2")
	if got := <-begun; got != "/op-2" {
		t.Errorf("the plan of %q begins", got)
	}
	u.sees("◌ plan of the saved build: ")
	hold("/op-3")()
	<-ended
	first()
	if got := <-begun; got != "/op-3" {
		t.Errorf("the plan of %q begins", got)
	}
	if got := u.ran(); got != "/op-3" {
		t.Errorf("it runs %q", got)
	}
	u.app.plans.Wait()
}

func TestHeld_NoPlanIsMadeWithoutACluster(t *testing.T) {
	var made []string
	u := startHolding(t, 80, 24, func(executable string) (*parts.Plan, error) {
		made = append(made, executable)
		return planned(executable)
	})
	u.publish(func(s *runner.State) { s.Cluster.Phase = runner.ClusterFailed }).hold("/op-2").sees("✗ no cluster").sees("◌ waits")
	if len(made) > 0 {
		t.Errorf("plans of %q", made)
	}
	u.publish(func(s *runner.State) { s.Cluster.Phase = runner.ClusterReady }).sees("the saved build would")
	u.publish(func(s *runner.State) { s.Process.Started = u.now.Add(time.Second) }).sees("! the saved build waits, and has no current plan")
	if !slices.Equal(made, []string{"/op-2"}) {
		t.Errorf("plans of %q", made)
	}
	u.wait(2*time.Second).press("i", "n").sees("the saved build would")
}

// startWaiting starts a workbench with a build that waits. The function finish delivers its plan, which has no effect.
func startWaiting(t *testing.T) (u *user, finish func()) {
	t.Helper()
	proceed := make(chan struct{})
	u = startWith(t, withChildren(noon), 100, 24, Options{Plan: func(ctx context.Context, _ string, _ func(string)) (*parts.Plan, error) {
		select {
		case <-proceed:
		case <-ctx.Done():
		}
		return &parts.Plan{Sentence: "9 unchanged"}, nil
	}})
	wait := u.show(func(s *runner.State) {
		s.Build.Held, s.Build.Saved, s.Build.SavedAt = "/op-2", []string{"claims.go"}, u.now
	})
	return u, func() {
		close(proceed)
		wait()
	}
}

// show publishes a state. Contrary to publish, it returns before a plan of this state ends; wait waits for the plan.
func (u *user) show(change func(*runner.State)) (wait func()) {
	s := *u.source.State()
	s.Revision++
	change(&s)
	u.source.set(&s)
	_, cmd := u.app.handle(stateMsg{explain.NewState(&s, u.app.screen.State)})
	return func() { u.run(cmd) }
}

func TestHeld_BuildWaitsIfItsPlanIsNotTrueAnyMore(t *testing.T) {
	for name, test := range map[string]struct {
		change func(u *user, s *runner.State)
		sees   string
	}{
		"restart": {func(u *user, s *runner.State) { s.Process.Started = u.now.Add(time.Second) }, "! the saved build waits, and has no current plan"},
		"cluster": {func(_ *user, s *runner.State) { s.Cluster.Phase = runner.ClusterFailed }, "no plan: no cluster answers"},
	} {
		t.Run(name, func(t *testing.T) {
			u, finish := startWaiting(t)
			u.show(func(s *runner.State) { test.change(u, s) })
			finish()
			u.sees(test.sees)
			if got := u.ran(); got != "" {
				t.Errorf("it runs %s", got)
			}
		})
	}
}

func TestHeld_KeyAsksBeforeABuildRunsWithoutItsPlan(t *testing.T) {
	u, finish := startWaiting(t)
	u.press("b").sees("Run the saved build without a plan?").press("esc").seesNot("without a plan?")
	if got := u.ran(); got != "" {
		t.Errorf("it runs %s", got)
	}
	u.press("b", "y").sees("the saved build starts")
	if got := u.ran(); got != "/op-2" {
		t.Errorf("the answer runs %q", got)
	}
	u.show(func(s *runner.State) { s.Build.Held, s.Build.Saved = "", nil })
	finish()
}

func TestHeld_KeyAsksIfANewerBuildHasNoPlan(t *testing.T) {
	var made []string
	u := startHolding(t, 80, 24, func(executable string) (*parts.Plan, error) {
		made = append(made, executable)
		return planned(executable)
	}).hold("/op-2").sees("the saved build would")
	u.wait(time.Second).show(func(s *runner.State) { s.Build.Held, s.Build.SavedAt = "/op-3", u.now })
	u.press("b").sees("Run the saved build without a plan?").press("esc")
	if got := u.ran(); got != "" {
		t.Errorf("it runs %s", got)
	}
	u.app.plans.Wait()
}

func TestHeld_RejectedStartIsSilentIfAnotherBuildWaits(t *testing.T) {
	for name, test := range map[string]struct {
		held string // the build that waits when the start is rejected
		sees bool
	}{"the build runs": {"", false}, "a newer build waits": {"/op-3", false}, "it still waits": {"/op-2", true}} {
		t.Run(name, func(t *testing.T) {
			u, _ := startWaiting(t)
			u.source.err = errors.New("no build waits")
			run := u.app.showPlan(plannedMsg{began: u.now, held: "/op-2", plan: &parts.Plan{Sentence: "9 unchanged"}})
			s := *u.source.State()
			s.Build.Held = test.held
			u.source.set(&s)
			result, _ := run().(resultMsg)
			if (result.err != nil) != test.sees {
				t.Errorf("the result is %+v", result)
			}
		})
	}
}

func TestHeld_UrgentAlarmsStayAndOthersDoNot(t *testing.T) {
	u := startHolding(t, 100, 24, planned).hold("/op-2").sees("the saved build would")
	u.publish(func(s *runner.State) { s.SavedManifests = []string{"crd.yaml"} }).sees("the saved build would")
	u.publish(func(s *runner.State) { s.Application.Refused = []string{"crd.yaml: spec.names must be set"} })
	u.sees("1 manifest refused, 9 says why").sees("· b runs the saved build").resize(60, 24).sees("1 manifest refused").sees("b runs the saved build")
	u.publish(func(s *runner.State) { s.Application.Refused = nil }).sees("b runs it")
	u.publish(func(s *runner.State) { s.Process.Phase, s.Process.Exit = runner.ProcessCrashed, "exit status 2" })
	u.sees("operator crashed").sees("b runs the saved build")
}

func TestHeld_KeyIsNotCutOff(t *testing.T) {
	u := startHolding(t, 80, 24, func(string) (*parts.Plan, error) {
		return &parts.Plan{Sentence: "9 change", Effect: "delete 1,234 objects, stop at a step on 12, be refused on 3, change 45,678"}, nil
	}).hold("/op-2")
	u.sees("! the saved build would delete 1,234 objects, ").sees("… · b runs it")
	u.resize(60, 24).sees("b runs it").resize(160, 24).sees("change 45,678 · b runs it · i plan")
}
