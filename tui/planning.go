package tui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/parts"
)

// plannedMsg delivers a plan.
type plannedMsg struct {
	began time.Time
	held  string // planned executable; empty for the saved code
	plan  *parts.Plan
	err   error
}

// planHeld begins the plan of a build that waits, unless the build has had one. It first cancels a plan that is outdated because
// another build waits, or none.
func (a *app) planHeld() tea.Cmd {
	g, s := a.screen.Planning, a.screen.State
	switch {
	case g == nil || g.Held == s.Build.Held:
	case !g.Running.IsZero():
		a.endPlan() // its message calls planHeld again
	case s.Build.Held != "" && s.Cluster.Phase == runner.ClusterReady:
		return a.startPlan()
	}
	return nil
}

// startPlan begins a plan in the background: of the build that waits or, if none waits, of the saved code. The command only waits for it, so that the end of the workbench can wait for the plan also
// when the command never runs.
func (a *app) startPlan() tea.Cmd {
	g := a.screen.Planning
	if !g.Running.IsZero() {
		return nil
	}
	began, held := a.clock(), a.screen.State.Build.Held
	ctx, cancel := context.WithCancel(a.ctx)
	g.Running, g.Held, a.cancelPlan = began, held, cancel
	g.Step.Store(nil)
	done := make(chan tea.Msg, 1)
	a.plans.Go(func() {
		plan, err := a.opts.Plan(ctx, held, func(step string) { g.Step.Store(&step) })
		if ctx.Err() != nil {
			plan, err = nil, nil
		}
		cancel()
		done <- plannedMsg{began, held, plan, err}
	})
	return func() tea.Msg { return <-done }
}

// showPlan takes over a plan. A cancelled one keeps the plan before it. The build that waits runs if its plan has no effect, has tried
// everything, and is still true.
func (a *app) showPlan(msg plannedMsg) tea.Cmd {
	g := a.screen.Planning
	g.Running, g.Err, a.cancelPlan = time.Time{}, msg.err, nil
	defer a.pages[parts.PlanPage].Refresh()
	switch {
	case msg.held != a.screen.State.Build.Held: // the plan is of a build that was replaced or runs
		g.Err = nil
	case msg.plan != nil && msg.plan.Incomplete:
		g.Plan, g.Began = msg.plan, msg.began
		a.toast.Refusal(a.screen.Now, "plan: "+msg.plan.Sentence)
	case msg.plan != nil && msg.held != "" && msg.plan.Effect == "" && msg.plan.NotTried == 0:
		return a.runPlanned(msg)
	case msg.plan != nil:
		g.Plan, g.Began = msg.plan, msg.began
		a.toast.Success(a.screen.Now, "plan: "+msg.plan.Sentence)
	case msg.err != nil:
		a.toast.Failure(a.screen.Now, "no plan: "+msg.err.Error())
	default:
		a.toast.Note(a.screen.Now, "the plan was cancelled")
	}
	return nil
}

// runPlanned runs the build that waits after a plan without an effect, unless the plan is outdated.
func (a *app) runPlanned(msg plannedMsg) tea.Cmd {
	g, s := a.screen.Planning, a.screen.State
	if s.Cluster.Phase != runner.ClusterReady || s.Lost() != "" {
		g.Err = errors.New("no cluster answers")
		a.toast.Failure(a.screen.Now, "no plan: "+g.Err.Error())
		return nil
	}
	g.Plan, g.Began = msg.plan, msg.began
	if reason := g.Stale(s); reason != "" {
		a.toast.Refusal(a.screen.Now, "the saved build waits: "+reason)
		return nil
	}
	run := a.send("plan: "+msg.plan.Sentence+"; the saved build starts", runner.Intent{Kind: runner.IntentRun, Value: msg.held})
	return func() tea.Msg {
		result, _ := run().(resultMsg)
		if result.err != nil && a.source.State().Build.Held != msg.held {
			return nil // the user was faster: the build runs already, or newer code replaces it
		}
		return result
	}
}

// endPlan cancels the plan that is being made.
func (a *app) endPlan() {
	if a.cancelPlan != nil {
		a.cancelPlan()
	}
}
